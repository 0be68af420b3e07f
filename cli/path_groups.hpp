// The groups of a rank that measures: one for each path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <railwave/communicator.hpp>

#include "base/event_loop.hpp"
#include "replay_sample.hpp"

namespace railwave::cli {

/// What the groups are made for; an absent value leaves the library's default.
struct GroupSettings {
  std::int64_t max_tokens = 1;     ///< of any rank in any step
  std::int64_t max_recv_rows = 1;  ///< of any rank in any step
  std::int64_t hidden = 1;
  DType dtype = DType::BF16;
  int top_k = 1;
  StartPolicy window_start = StartPolicy::Submission;
  std::optional<StartPolicy> wave_start{};
  std::optional<std::int64_t> lead_bytes{};
  std::optional<std::int64_t> chunk_bytes{};
  std::optional<std::int64_t> socket_buffer{};
  int slots = 0;  ///< 0: the library's default
  int phases_in_flight = 1;
  Packing packing = Packing::Pipelined;
  bool rows_in_place = false;  ///< room in the groups' memory for the rows of a step, both ways
};

/// Devices of this node's rails from RAILWAVE_RAILS, where a missing one is "-"; empty here.
/// Errors: InvalidArgument when it does not name `rails` of them.
Result<std::vector<std::string>> rail_devices(int rails);

/// One group for each path, with connections of its own, as a job would have that runs this path:
/// what incast does to the congestion windows of one path must not slow the next one.
/// Threads: belongs to one thread.
class PathGroups {
 public:
  /// Takes the launcher's variables. Errors: those of making a group.
  static Result<PathGroups> connect(const Topology& topology, const Placement& placement,
                                    const GroupSettings& settings, std::size_t paths);

  [[nodiscard]] RankId self() const { return self_; }
  Communicator& operator[](std::size_t path) { return groups_[path]; }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine) {
    return groups_.front().all_gather(mine);
  }
  /// A sampler for each path. (set) in `common`: what all of them share; the group, the rank and
  /// the meeting points are this object's, which must stay where it is.
  std::vector<ReplaySampler> samplers(const ReplaySampler::Setup& common);
  /// Every rank's samples [P] on rank 0, nothing elsewhere. Errors: ProtocolViolation when some are
  /// cut.
  Result<std::vector<std::vector<RankSample>>> gather_samples(std::span<const RankSample> mine);
  /// The moment at which all ranks leave here.
  Result<Clock::time_point> common_start();
  /// Returns when all ranks are here.
  Status all_done();

 private:
  RankId self_;
  std::vector<Communicator> groups_;
};

/// One round of a layer: a sample on each path.
struct SampleRound {
  std::size_t layer = 0;
  const PreparedLayer* prepared = nullptr;
  int number = 0;  ///< from 0
};

/// Takes the samples of a round and gives each to `keep`. Paths take turns in going first, so that
/// a drift of the machine hits all alike. Errors: of the samples and of `keep`.
Status sample_round(std::span<ReplaySampler> samplers, std::span<const Path> paths,
                    const SampleRound& round, const std::function<Status(RankSample)>& keep);

}  // namespace railwave::cli
