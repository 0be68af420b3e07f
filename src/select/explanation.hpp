// Why a selection is what it is. Private to the room.
#pragma once

#include <vector>

#include "anchor_index.hpp"
#include "select/selector.hpp"

namespace railwave::select {

Explanation explain_no_remote_bytes();

/// Looks at one phase from every anchor. REQUIRES: everything outlives this.
class Explainer {
 public:
  Explainer(const CostTable& table, const AnchorIndex& index, const Descriptors& phase,
            bool one_rail)
      : table_(table), index_(index), phase_(phase), one_rail_(one_rail) {}
  [[nodiscard]] Explanation explain(const Selection& selection, int most_rejected) const;

 private:
  struct Seen;
  [[nodiscard]] Seen see(int anchor) const;
  [[nodiscard]] std::string sentence(const Explanation& explanation) const;
  [[nodiscard]] std::string describe(const Neighbour& neighbour) const;
  [[nodiscard]] std::string misses(const Neighbour& neighbour) const;

  const CostTable& table_;
  const AnchorIndex& index_;
  const Descriptors& phase_;
  bool one_rail_;
};

}  // namespace railwave::select
