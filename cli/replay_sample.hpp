// One sample of a replay: a dispatch and its combine, verified to the bit.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <railwave/communicator.hpp>
#include <railwave/error.hpp>

#include "base/event_loop.hpp"
#include "replay_samples.hpp"
#include "replay_workload.hpp"
#include "workload/replay_rows.hpp"

namespace railwave::cli {

/// Rows of one layer on one rank. `back` is what the experts return: for each received row the fp32
/// sum of its experts' rows in slot order, rounded once, as a framework would that applies no
/// weights. `expected` is the combined output by the definition (DESIGN 4), computed in this
/// process alone.
struct PreparedLayer {
  std::vector<std::byte> x;                     ///< [T, H]
  std::vector<workload::RowIdentity> received;  ///< of each row that arrives, in order
  std::vector<std::byte> back;                  ///< [Nr, H]
  std::vector<std::byte> expected;              ///< [T, H]
};

/// Runs samples on a group of any kind.
/// Threads: the group's.
class ReplaySampler {
 public:
  struct Setup {
    RankId self;
    const Topology* topology = nullptr;
    const ReplayWorkload* work = nullptr;
    const workload::ReplayRows* rows = nullptr;
    DType dtype = DType::BF16;
    std::int64_t hidden = 0;
    Communicator* group = nullptr;
    /// Called before each phase: the moment at which all ranks start it.
    std::function<Result<Clock::time_point>()> common_start;
    /// Called after each phase: returns when all ranks have finished it.
    std::function<Status()> all_done;
    bool combine = true;    ///< false: a sample is a dispatch alone
    bool check = true;      ///< false: rows are not verified, and experts return zeros
    bool in_place = false;  ///< rows lie in the group's memory, which must have room for them
  };
  explicit ReplaySampler(Setup setup);

  [[nodiscard]] PreparedLayer prepare(std::size_t layer) const;
  /// Errors: what dispatch and combine return. Wrong rows are counted, not an error.
  Result<RankSample> sample(std::size_t layer, const PreparedLayer& prepared, Path path);

 private:
  void expect(std::size_t layer, PreparedLayer& out) const;
  Result<Received> dispatch(std::size_t layer, const PreparedLayer& prepared, RankSample& out,
                            Path path);
  [[nodiscard]] std::int64_t wrong_rows(const PreparedLayer& prepared,
                                        const Received& received) const;
  /// Where the rows of a phase lie when it starts: as prepared, or copied to the group's memory.
  Result<const std::byte*> place(std::span<const std::byte> rows, std::int64_t most_rows,
                                 SharedBuffer& shared) const;
  Status combine(const PreparedLayer& prepared, const Received& received, RankSample& out);
  [[nodiscard]] std::vector<ExpertId> experts_at(const workload::RankRouting& routing,
                                                 std::int64_t token, RankId rank) const;

  Setup setup_;
  std::int64_t row_bytes_;
  SharedBuffer x_;
  SharedBuffer back_;
  std::vector<std::byte> receive_;  // reused, as a framework's allocator would
};

}  // namespace railwave::cli
