// What `railwave bench` was asked to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <railwave/dtype.hpp>
#include <railwave/error.hpp>
#include <railwave/path.hpp>

#include "cluster_options.hpp"

namespace CLI {
class App;
}

namespace railwave::cli {

/// As typed.
struct BenchOptions {
  ClusterOptions cluster{};
  std::string operation{};  ///< the verb's verb
  std::string begin = "64kb";
  std::string end{};  ///< empty: 512kb, of p2p, incast and permute 1mb, but at least begin
  int factor = 2;
  std::int64_t tokens = 0;  ///< 0: by begin, end and factor
  int iterations = 10;
  int warmups = 2;
  int check = 1;
  std::string rows = "in-place";
  int experts = 64;
  int top_k = 8;
  std::int64_t hidden = 7168;
  std::string dtype = "bf16";
  std::vector<std::string> paths{};  ///< empty: all four, inside one node native
  int sender = 0;                    ///< of p2p
  int receiver = 0;                  ///< of p2p and incast
  std::uint64_t seed = 1;
  std::string json{};
  bool no_gate = false;
  double timeout = 3600;
};

/// dispatch, combine, round-trip. REQUIRES: `options` outlives the parsing (also below).
void add_exchange_options(CLI::App& verb, BenchOptions& options);
/// p2p, incast, permute.
void add_network_options(CLI::App& verb, BenchOptions& options);
/// --experts, --top-k, --hidden, --dtype, --tokens, -n, -w, -c, --seed and --json, for peers too.
void add_peer_options(CLI::App& verb, BenchOptions& options);

/// Which phases are timed.
struct Timed {
  bool dispatch = true;
  bool combine = true;
};

/// The words as values.
struct BenchRequest {
  Timed timed{};
  DType dtype = DType::BF16;
  std::int64_t row_bytes = 0;
  std::vector<Path> paths{};
  std::vector<std::int64_t> tokens{};  ///< of each rank, ascending; empty for p2p, incast, permute
  std::vector<std::int64_t> bytes{};   ///< of p2p, incast and permute, ascending
};

/// Errors: InvalidArgument naming the option.
Result<BenchRequest> understand(const BenchOptions& options, int nodes);

/// p2p, incast and permute: the rails without the library.
bool is_network(const BenchOptions& options);

}  // namespace railwave::cli
