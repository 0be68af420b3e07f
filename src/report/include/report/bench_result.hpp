// The results of `railwave bench` (docs/bench.md): the exchange, and the rails without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <railwave/error.hpp>

#include "report/environment.hpp"
#include "report/replay_result.hpp"

namespace railwave::report {

constexpr std::string_view kBenchSchema = "railwave.bench/1";
constexpr std::string_view kNetworkSchema = "railwave.network/1";

/// How often each size is measured.
struct BenchRounds {
  int iterations = 0;
  int warmups = 0;
  bool check = false;  ///< every row (every transfer) of every round is compared
  friend bool operator==(const BenchRounds&, const BenchRounds&) = default;
};

/// What the ranks exchange: random routing, different experts for each token.
struct BenchWorkload {
  int experts = 0;
  int top_k = 0;
  std::string dtype{};
  std::int64_t hidden = 0;
  std::int64_t row_bytes = 0;
  friend bool operator==(const BenchWorkload&, const BenchWorkload&) = default;
};

/// Quantiles of measured times, (computed) from the samples.
struct Times {
  double p50_s = 0;
  double min_s = 0;
  double max_s = 0;
  std::optional<double> p99_s{};  ///< from 100 samples on
  friend bool operator==(const Times&, const Times&) = default;
};

/// One size on one path. Byte counts are means over the ranks, rounded down. Fields marked (set)
/// come from the run, those marked (computed) from summarise().
struct BenchSize {
  std::int64_t size_bytes = 0;      ///< (set) a rank's own rows: tokens * row_bytes
  std::int64_t tokens = 0;          ///< (set) of each rank
  std::int64_t logical_bytes = 0;   ///< (set) row copies that a rank receives in a dispatch and
                                    ///< gives back in a combine, those from itself too
  std::int64_t wire_bytes = 0;      ///< (set) row bytes that a rank sends over rails
  Times time{};                     ///< (computed)
  double algbw_byte_s = 0;          ///< (computed) logical_bytes / p50_s
  double busbw_byte_s = 0;          ///< (computed) algbw * (P - 1) / P
  std::optional<double> bound_s{};  ///< (set) LB1 of the rails; absent on one node
  std::optional<double> ratio_to_bound{};  ///< (computed)
  std::int64_t wrong = 0;                  ///< (set) rows that came out wrong, warm-up included
  std::optional<std::string> bits{};       ///< (set) hash of all outputs of combine
  std::optional<Breakdown> breakdown{};    ///< (set) medians of the slowest rank's parts
  std::vector<double> samples{};           ///< (set) seconds, in the order measured
  friend bool operator==(const BenchSize&, const BenchSize&) = default;
};

/// One path, or a peer by its name.
struct BenchPath {
  std::string name{};
  std::vector<BenchSize> sizes{};
  friend bool operator==(const BenchPath&, const BenchPath&) = default;
};

/// `operation` is "dispatch", "combine" or "round-trip". Threads: a value.
struct BenchResult {
  std::string operation{};
  ClusterFacts cluster{};
  Environment environment{};
  BenchWorkload workload{};
  BenchRounds rounds{};
  std::vector<BenchPath> paths{};
  friend bool operator==(const BenchResult&, const BenchResult&) = default;
};

/// One size on one rail.
struct NetworkSize {
  std::int64_t size_bytes = 0;    ///< (set) from each sender to its receiver
  Times time{};                   ///< (computed)
  double bit_s = 0;               ///< (computed) what the receiver got, over p50_s
  double fraction = 0;            ///< (computed) bit_s over the receiver's nominal rate
  std::int64_t wrong = 0;         ///< (set) transfers with a wrong byte, warm-up included
  std::vector<double> samples{};  ///< (set) seconds, in the order measured
  friend bool operator==(const NetworkSize&, const NetworkSize&) = default;
};

/// One rail, or one route of it: the slowest of what runs on it at once.
struct NetworkRail {
  int rail = 0;
  std::string route{};             ///< (set) "0>1", "1,2,3>0", "all": who sends to whom
  int senders = 1;                 ///< (set) of one receiver
  std::int64_t nominal_bit_s = 0;  ///< (set) the slowest end's
  std::vector<NetworkSize> sizes{};
  friend bool operator==(const NetworkRail&, const NetworkRail&) = default;
};

/// `operation` is "p2p", "incast" or "permute". Threads: a value.
struct NetworkResult {
  std::string operation{};
  ClusterFacts cluster{};
  Environment environment{};
  BenchRounds rounds{};
  std::vector<NetworkRail> rails{};
  friend bool operator==(const NetworkResult&, const NetworkResult&) = default;
};

/// Fill every (computed) field. Errors: InvalidArgument{samples} for a size without samples.
Status summarise(BenchResult& result);
Status summarise(NetworkResult& result);

/// Whether the result may stand. Errors: IntegrityError{wrong} for wrong rows or transfers,
/// {bits} when two paths gave different bits; Internal{ratio_to_bound} for a time below its bound.
Status verdict(const BenchResult& result);
Status verdict(const NetworkResult& result);

/// "#" lines about the run, then one line per path and size (rail and size).
std::string to_table(const BenchResult& result);
std::string to_table(const NetworkResult& result);

/// One JSON object; absent fields are left out.
/// Errors: InvalidArgument naming the field when a number is not finite.
Result<std::string> to_json(const BenchResult& result);
Result<std::string> to_json(const NetworkResult& result);
/// Read what to_json() writes, and nothing else. Errors: InvalidArgument naming the field or the
/// byte; Unsupported{schema} for another schema.
Result<BenchResult> bench_from_json(std::string_view text);
Result<NetworkResult> network_from_json(std::string_view text);

}  // namespace railwave::report
