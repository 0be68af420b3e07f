#include "testbed/emulation_limits.hpp"

#include <string>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "base/units.hpp"

namespace railwave::testbed {
namespace {

constexpr const char* kElsewhere =
    "railwave plan, describe and select take the cluster as it is, since they send nothing";

Status check_rate(const char* field, const std::string& where, std::int64_t rate) {
  if (rate >= kLeastEmulatedRate && rate <= kMostEmulatedRate) return {};
  return fail(
      ErrorCode::InvalidArgument, field,
      fmt::format("{}{} can not be emulated on this machine: a rail has {} to {} here; give "
                  "another rate ({})",
                  where, format_rate(rate), format_rate(kLeastEmulatedRate),
                  format_rate(kMostEmulatedRate), kElsewhere));
}

}  // namespace

Status check_emulation(const ClusterSpec& spec) {
  if (spec.nodes() > kMostEmulatedNodes) {
    return fail(ErrorCode::InvalidArgument, "nodes",
                fmt::format("{} nodes can not be emulated on this machine: {} are the most; give "
                            "fewer ({})",
                            spec.nodes(), kMostEmulatedNodes, kElsewhere));
  }
  if (spec.rail_rate.empty()) return check_rate("rate", "", spec.rate);
  for (int n = 0; n < spec.nodes(); ++n) {
    for (int r = 0; r < spec.rails; ++r) {
      const NodeId node(n);
      const RailId rail(r);
      if (!spec.has_rail(node, rail)) continue;
      RAILWAVE_TRY(check_rate("rail_rate", fmt::format("node {}, rail {}: ", n, r),
                              spec.rate_of(node, rail)));
    }
  }
  return {};
}

}  // namespace railwave::testbed
