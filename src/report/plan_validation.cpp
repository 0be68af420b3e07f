// A plan file's numbers as a plan: everything that may be out of range is looked at once, here.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "plan_fields.hpp"

namespace railwave::report {
namespace {

tl::unexpected<Error> wrong(const std::string& place, const std::string& sentence) {
  return fail(ErrorCode::InvalidArgument, place, fmt::format("{}: {}", place, sentence));
}

Status in_range(const std::string& place, std::int64_t value, std::int64_t least,
                std::int64_t most) {
  if (value >= least && value <= most) return {};
  return wrong(place, fmt::format("{}, expected {} to {}", value, least, most));
}

Status has_size(const std::string& place, std::size_t size, std::size_t expected) {
  if (size == expected) return {};
  return wrong(place, fmt::format("{} entries, expected {}", size, expected));
}

/// As many numbers as the topology promises, before anything of its size is made.
Status check_counts(const PlanFields& file) {
  const std::size_t nodes = file.topology.home_rail.size();
  if (nodes == 0) return wrong("topology.home_rail", "no nodes, expected at least one");
  RAILWAVE_TRY(has_size("counts", file.counts.size(), nodes));
  std::int64_t total = 0;
  for (std::size_t s = 0; s < nodes; ++s) {
    const auto& rows = file.counts[s];
    RAILWAVE_TRY(has_size(fmt::format("counts[{}]", s), rows.size(),
                          static_cast<std::size_t>(file.topology.rails)));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::string place = fmt::format("counts[{}][{}]", s, r);
      RAILWAVE_TRY(has_size(place, rows[r].size(), nodes));
      for (std::size_t d = 0; d < nodes; ++d) {
        const auto sum = rows[r][d] < 0 ? std::nullopt : checked_add(total, rows[r][d]);
        if (!sum) {
          return wrong(fmt::format("{}[{}]", place, d),
                       fmt::format("{} is negative or takes the sum beyond 63 bits", rows[r][d]));
        }
        if (s == d && rows[r][d] != 0) {
          return wrong(fmt::format("{}[{}]", place, d), "records of a node for itself, expected 0");
        }
        total = *sum;
      }
    }
  }
  return {};
}

Result<Topology> topology_of(const TopologyFields& file) {
  const std::size_t nodes = file.home_rail.size();
  const auto rails = static_cast<std::size_t>(file.rails);
  Topology::Options options;
  options.rails = file.rails;
  options.home_rail = file.home_rail;
  for (const auto& homes : file.home_rail) {
    options.ranks_per_node.push_back(static_cast<int>(homes.size()));
  }
  if (file.missing_rails) {
    RAILWAVE_TRY(has_size("topology.missing_rails", file.missing_rails->size(), nodes));
    options.live.assign(nodes, std::vector<bool>(rails, true));
    for (std::size_t n = 0; n < nodes; ++n) {
      for (const int rail : (*file.missing_rails)[n]) {
        const std::string place = fmt::format("topology.missing_rails[{}]", n);
        RAILWAVE_TRY(in_range(place, rail, 0, file.rails - 1));
        options.live[n][static_cast<std::size_t>(rail)] = false;
      }
    }
  }
  if (file.weights) options.weights = *file.weights;
  if (file.ingress) options.ingress = *file.ingress;
  auto topology = Topology::create(std::move(options));
  if (topology) return topology;
  return wrong("topology." + topology.error().field, topology.error().message);
}

/// Topology::create reads chi(s,d) for s < d only; the file says both.
Status check_ingress(const TopologyFields& file, const Topology& topology) {
  if (!file.ingress) return {};
  const std::size_t nodes = file.home_rail.size();
  for (std::size_t s = 0; s < nodes; ++s) {
    for (std::size_t d = 0; d < nodes; ++d) {
      const std::string place = fmt::format("topology.ingress[{}][{}]", s, d);
      const auto& rails = (*file.ingress)[s][d];
      RAILWAVE_TRY(has_size(place, rails.size(), static_cast<std::size_t>(file.rails)));
      for (std::size_t r = 0; r < rails.size(); ++r) {
        const int expected =
            s == d ? static_cast<int>(r) : topology.ingress(NodeId(s), NodeId(d), RailId(r)).value;
        if (rails[r] == expected) continue;
        return wrong(place, fmt::format("rail {} arrives on {}, expected {}: the way back is the "
                                        "inverse of the way there",
                                        r, rails[r], expected));
      }
    }
  }
  return {};
}

RailCounts counts_of(const PlanFields& file) {
  RailCounts counts(static_cast<int>(file.counts.size()), file.topology.rails);
  for (std::size_t s = 0; s < file.counts.size(); ++s) {
    for (std::size_t r = 0; r < file.counts[s].size(); ++r) {
      for (std::size_t d = 0; d < file.counts[s][r].size(); ++d) {
        counts.set(NodeId(s), RailId(r), NodeId(d), file.counts[s][r][d]);
      }
    }
  }
  return counts;
}

Result<NodePair> pair_of(const std::string& place, int source, int destination, int nodes) {
  RAILWAVE_TRY(in_range(place, source, 0, nodes - 1));
  RAILWAVE_TRY(in_range(place, destination, 0, nodes - 1));
  if (source == destination) return wrong(place, "a node and itself; expected two nodes");
  return NodePair{NodeId(source), NodeId(destination)};
}

Result<Windows> windows_of(const PlanFields& file, int nodes) {
  Windows windows;
  for (std::size_t w = 0; w < file.windows.size(); ++w) {
    Window& window = windows.emplace_back();
    for (std::size_t i = 0; i < file.windows[w].size(); ++i) {
      const std::string place = fmt::format("windows[{}][{}]", w, i);
      const auto& ends = file.windows[w][i];
      RAILWAVE_TRY(has_size(place, ends.size(), 2));
      const auto pair = pair_of(place, ends[0], ends[1], nodes);
      if (!pair) return fail(pair.error());
      window.push_back(*pair);
    }
  }
  return windows;
}

/// Sums over the whole file, which others form without looking.
struct Totals {
  std::int64_t loads = 0;
  std::int64_t segments = 0;
};

/// Reads one slice of the plan so far.
class SliceReader {
 public:
  SliceReader(const plan::RecordedPlan& plan, std::string place, Totals& totals)
      : plan_(plan), place_(std::move(place)), totals_(totals) {}

  Result<plan::RecordedSlice> read(const SliceFields& file) {
    const auto pair = pair_of(place_, file.source, file.destination, plan_.topology.nodes());
    if (!pair) return fail(pair.error());
    plan::RecordedSlice slice{*pair, {}, {}};
    for (std::size_t i = 0; i < file.sends.size(); ++i) {
      RAILWAVE_TRY(add_send(fmt::format("{}.sends[{}]", place_, i), file.sends[i], slice));
    }
    for (std::size_t i = 0; i < file.segments.size(); ++i) {
      RAILWAVE_TRY(add_segment(fmt::format("{}.segments[{}]", place_, i), file.segments[i], slice));
    }
    return slice;
  }

 private:
  Status add_send(const std::string& place, const SendFields& file, plan::RecordedSlice& slice) {
    if (plan_.windows.empty()) {
      return wrong(place + ".window", fmt::format("{}, but the plan has no windows", file.window));
    }
    RAILWAVE_TRY(in_range(place + ".window", file.window, 0, std::ssize(plan_.windows) - 1));
    const auto window = static_cast<std::size_t>(file.window);
    if (!slice.sends.empty() && window <= slice.sends.back().window) {
      return wrong(place + ".window", "expected windows in ascending order");
    }
    RAILWAVE_TRY(has_size(place + ".rails", file.rails.size(),
                          static_cast<std::size_t>(plan_.topology.rails())));
    for (const std::int64_t records : file.rails) {
      const auto sum = records < 0 ? std::nullopt : checked_add(totals_.loads, records);
      if (!sum) {
        return wrong(place + ".rails",
                     fmt::format("{} is negative or takes the sum beyond 63 bits", records));
      }
      totals_.loads = *sum;
    }
    slice.sends.push_back({window, file.rails});
    return {};
  }

  Status add_segment(const std::string& place, const std::vector<std::int64_t>& file,
                     plan::RecordedSlice& slice) {
    RAILWAVE_TRY(has_size(place, file.size(), 5));
    const int rails = plan_.topology.rails();
    RAILWAVE_TRY(in_range(place + "[0]", file[0], 0, rails - 1));
    RAILWAVE_TRY(in_range(place + "[1]", file[1], 0, INT64_MAX));
    RAILWAVE_TRY(in_range(place + "[2]", file[2], 0, rails - 1));
    RAILWAVE_TRY(in_range(place + "[3]", file[3], 0, INT64_MAX));
    RAILWAVE_TRY(in_range(place + "[4]", file[4], 1, INT64_MAX - std::max(file[1], file[3])));
    const plan::Segment segment{RailId(static_cast<std::int32_t>(file[0])), file[1],
                                RailId(static_cast<std::int32_t>(file[2])), file[3], file[4]};
    if (!slice.segments.empty()) {
      const plan::Segment& last = slice.segments.back();
      if (std::pair(segment.home, segment.first) <= std::pair(last.home, last.first)) {
        return wrong(place, "expected segments in ascending order of home rail and first record");
      }
    }
    const auto sum = checked_add(totals_.segments, file[4]);
    if (!sum) return wrong(place + "[4]", "takes the sum beyond 63 bits");
    totals_.segments = *sum;
    slice.segments.push_back(segment);
    return {};
  }

  const plan::RecordedPlan& plan_;
  std::string place_;
  Totals& totals_;
};

}  // namespace

Result<plan::RecordedPlan> plan_of(const PlanFields& file) {
  const auto path = path_from_string(file.path);
  if (!path) return wrong("path", fmt::format("'{}' is no path", file.path));
  RAILWAVE_TRY(in_range("topology.rails", file.topology.rails, 1, INT32_MAX));
  RAILWAVE_TRY(check_counts(file));
  const auto topology = topology_of(file.topology);
  if (!topology) return fail(topology.error());
  RAILWAVE_TRY(check_ingress(file.topology, *topology));
  plan::RecordedPlan plan{*topology, counts_of(file), *path};
  auto windows = windows_of(file, topology->nodes());
  if (!windows) return fail(std::move(windows).error());
  plan.windows = *std::move(windows);
  Totals totals;
  for (std::size_t i = 0; i < file.slices.size(); ++i) {
    const std::string place = fmt::format("slices[{}]", i);
    auto slice = SliceReader(plan, place, totals).read(file.slices[i]);
    if (!slice) return fail(std::move(slice).error());
    if (!plan.slices.empty() && slice->pair <= plan.slices.back().pair) {
      return wrong(place, "expected slices in ascending order of source and destination");
    }
    plan.slices.push_back(*std::move(slice));
  }
  return plan;
}

}  // namespace railwave::report
