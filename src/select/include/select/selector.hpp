// Which path a phase takes (paper section 3.3, App. A.3, eq. 11-12; DESIGN 5.5).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>

#include "model/descriptors.hpp"
#include "select/cost_table.hpp"

namespace railwave::select {

/// How a table becomes an answer.
///   Paper  the nearest anchor within its neighbourhood, else joint
enum class Policy : std::uint8_t { Paper = 0 };
constexpr std::string_view to_string(Policy) { return "paper"; }

/// Why an answer is what it is.
///   NoRemoteBytes  no byte leaves a node: native
///   NearestAnchor  the path of the nearest eligible anchor
///   NoAnchor       no anchor is eligible: joint
enum class Cause : std::uint8_t { NoRemoteBytes = 0, NearestAnchor = 1, NoAnchor = 2 };
constexpr std::string_view to_string(Cause cause) {
  return cause == Cause::NoRemoteBytes   ? "no_remote_bytes"
         : cause == Cause::NearestAnchor ? "nearest_anchor"
                                         : "no_anchor";
}

struct Selection {
  Path path = Path::Joint;
  Cause cause = Cause::NoAnchor;
  int anchor = -1;  ///< index in CostTable::anchors; -1 unless NearestAnchor
  friend bool operator==(const Selection&, const Selection&) = default;
};

/// How far a phase lies from an anchor in one coordinate. For people: nothing is decided by it.
struct Offset {
  double coordinate = 0;  ///< |x - x_j|, rounded down to 2^-32
  double radius = 0;      ///< the most that is eligible
  double measure = 0;     ///< of the payload B / B_j, of the others rho - rho_j and kappa - kappa_j
  bool inside = false;    ///< exact
};

/// One anchor as seen from a phase.
struct Neighbour {
  int anchor = 0;       ///< index in CostTable::anchors
  double distance = 0;  ///< root of the sum of the squared coordinates
  Offset payload{};
  Offset rail_skew{};
  Offset receiver_concentration{};
  [[nodiscard]] bool eligible() const {
    return payload.inside && rail_skew.inside && receiver_concentration.inside;
  }
};

struct Explanation {
  Selection selection;
  std::string sentence;               ///< why, with the figures that decided
  std::vector<Neighbour> eligible{};  ///< nearest first, ties in the order of the file; front() won
  std::vector<Neighbour> rejected{};  ///< the nearest that are not eligible, in the same order
};

/// Chooses the path of a phase. The answer is a function of the descriptors and the table alone:
/// integers throughout, so every rank, compiler and set of flags gives the same.
/// Threads: immutable; may be shared freely.
class Selector {
 public:
  virtual ~Selector() = default;
  [[nodiscard]] virtual Policy policy() const = 0;
  [[nodiscard]] virtual const CostTable& table() const = 0;
  /// REQUIRES: both skews present when the payload is above 0, as describe() gives them.
  [[nodiscard]] virtual Selection select(const Descriptors& phase) const = 0;
  /// The same answer with its reasons and the `most_rejected` nearest anchors that are not
  /// eligible. Looks at every anchor: for people, not for every step. REQUIRES: as select().
  [[nodiscard]] virtual Explanation explain(const Descriptors& phase, int most_rejected) const = 0;
};

struct SelectorOptions {
  Policy policy = Policy::Paper;
  bool force = false;  ///< use a table that was made for another cluster shape
};

/// A selector for `cluster`. With one rail the second coordinate is 0 whatever the table says.
/// Errors: those of check() and, unless forced, of check_shape().
Result<std::unique_ptr<const Selector>> make_selector(CostTable table, const ClusterShape& cluster,
                                                      const SelectorOptions& options = {});

}  // namespace railwave::select
