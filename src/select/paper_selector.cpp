#include "paper_selector.hpp"

#include <utility>

#include "base/checked.hpp"
#include "explanation.hpp"

namespace railwave::select {

PaperSelector::PaperSelector(CostTable table, const ClusterShape& cluster)
    : table_(std::move(table)),
      // A table of one rail may say R - 1 = 0, also when it is forced on a cluster of more.
      one_rail_(cluster.rails == 1 || table_.scales.rail_skew_divisor.millionths() == 0),
      index_(table_, one_rail_) {}

Selection PaperSelector::select(const Descriptors& phase) const {
  if (phase.payload.num == 0) return {Path::Native, Cause::NoRemoteBytes, -1};
  RAILWAVE_CHECK(phase.rail_skew && phase.receiver_concentration, "a payload without skews");
  const int anchor = index_.nearest(phase);
  if (anchor < 0) return {Path::Joint, Cause::NoAnchor, -1};
  return {table_.anchors[static_cast<std::size_t>(anchor)].path, Cause::NearestAnchor, anchor};
}

Explanation PaperSelector::explain(const Descriptors& phase, int most_rejected) const {
  const Selection selection = select(phase);
  if (selection.cause == Cause::NoRemoteBytes) return explain_no_remote_bytes();
  return Explainer(table_, index_, phase, one_rail_).explain(selection, most_rejected);
}

}  // namespace railwave::select
