#include "select/selector.hpp"

#include <utility>

#include "base/fail.hpp"
#include "paper_selector.hpp"

namespace railwave::select {

Result<std::unique_ptr<const Selector>> make_selector(CostTable table, const ClusterShape& cluster,
                                                      const SelectorOptions& options) {
  RAILWAVE_TRY(check(table));
  if (!options.force) RAILWAVE_TRY(check_shape(table, cluster));
  return std::make_unique<const PaperSelector>(std::move(table), cluster);
}

}  // namespace railwave::select
