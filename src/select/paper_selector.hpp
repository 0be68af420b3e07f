// Policy `paper`. Private to the room.
#pragma once

#include "anchor_index.hpp"
#include "select/selector.hpp"

namespace railwave::select {

/// Eq. 11-12: the path of the nearest eligible anchor, else joint; native without remote bytes.
class PaperSelector final : public Selector {
 public:
  /// REQUIRES: a table that check() accepts.
  PaperSelector(CostTable table, const ClusterShape& cluster);
  PaperSelector(const PaperSelector&) = delete;
  PaperSelector& operator=(const PaperSelector&) = delete;

  [[nodiscard]] Policy policy() const override { return Policy::Paper; }
  [[nodiscard]] const CostTable& table() const override { return table_; }
  [[nodiscard]] Selection select(const Descriptors& phase) const override;
  [[nodiscard]] Explanation explain(const Descriptors& phase, int most_rejected) const override;

 private:
  CostTable table_;
  bool one_rail_;
  AnchorIndex index_;
};

}  // namespace railwave::select
