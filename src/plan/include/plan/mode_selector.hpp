// A mode that remembers what it was chosen for (draft-li-moe-ep-communication-optimization-00,
// sections 6.1 and 6.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/topology.hpp>

#include "plan/mode.hpp"

namespace railwave::plan {

/// Why an answer must be found again.
///   Initialisation   there is no answer yet
///   TopologyChange   nodes, ranks, rails, their wiring or which of them are up
///   ModelChange      experts, hidden size, top-k or bytes of experts and rows; also a load
///   (tokens,
///                    remote nodes) that gives another answer: one that gives the same is no change
enum class ReevaluationTrigger : std::uint8_t {
  Initialisation = 0,
  TopologyChange = 1,
  ModelChange = 2
};

constexpr std::string_view to_string(ReevaluationTrigger trigger) {
  constexpr std::array<std::string_view, 3> kNames{"initialisation", "topology change",
                                                   "model change"};
  return kNames[static_cast<std::size_t>(trigger)];
}

struct Reevaluation {
  ReevaluationTrigger trigger;
  std::string reason;  ///< what was and what is, for example "experts 64 -> 128"
};

/// Threads: belongs to one thread.
class ModeSelector {
 public:
  explicit ModeSelector(ModeFormula formula = ModeFormula::Bytes) : formula_(formula) {}

  /// Why the answer that select() gave last no longer holds, all reasons; empty: it holds.
  [[nodiscard]] std::vector<Reevaluation> triggers(const Topology& topology, const ModeModel& model,
                                                   const ModeLoad& load) const;
  /// Finds the answer and remembers it with what it is based on. An error leaves the answer before.
  /// Errors: as select_mode().
  Result<ModeDecision> select(const Topology& topology, const ModeModel& model,
                              const ModeLoad& load);
  /// The draft's mode query: the last answer, absent before the first.
  [[nodiscard]] std::optional<ModeDecision> last() const;

 private:
  struct Basis {
    int nodes;
    int ranks;
    std::uint64_t topology;  // fingerprint
    ModeModel model;
    ModeDecision answer;
  };
  ModeFormula formula_;
  std::optional<Basis> basis_;
};

}  // namespace railwave::plan
