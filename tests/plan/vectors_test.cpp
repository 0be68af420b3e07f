// The library against the golden values in tests/vectors (see oracle.py there).
#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/descriptors.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/lower_bound.hpp"
#include "plan/rail_balance.hpp"

namespace railwave::plan {
namespace {

using nlohmann::json;
using Move = std::array<std::int64_t, 3>;  // owner rail, record, target rail

json read(const std::string& name) {
  std::ifstream file(std::string(RAILWAVE_TEST_VECTORS) + "/" + name);
  EXPECT_TRUE(file) << name;
  return json::parse(file);
}

RailCounts counts_from(const json& rows, int nodes, int rails) {
  RailCounts counts(nodes, rails);
  for (int s = 0; s < nodes; ++s) {
    for (int r = 0; r < rails; ++r) {
      for (int d = 0; d < nodes; ++d) counts.set(NodeId(s), RailId(r), NodeId(d), rows[s][r][d]);
    }
  }
  return counts;
}

Topology topology_from(const json& one) {
  const int nodes = one["nodes"];
  const int rails = one["rails"];
  Topology::Options options;
  options.ranks_per_node.assign(static_cast<std::size_t>(nodes), rails);
  options.rails = rails;
  for (const json& row : one.value("live", json::array())) {
    auto& up = options.live.emplace_back();
    for (const int rail : row) up.push_back(rail != 0);
  }
  return Topology::create(options).value();
}

std::string text(const Ratio& ratio) {
  return std::to_string(ratio.num) + "/" + std::to_string(ratio.den);
}

/// Records that change rail, in the order of (home rail, record).
std::vector<Move> moves(const SliceAssignment& slice) {
  std::vector<Move> out;
  for (const Segment& segment : slice.by_home) {
    if (segment.home == segment.rail) continue;
    for (std::int64_t i = 0; i < segment.count; ++i) {
      out.push_back({segment.home.value, segment.first + i, segment.rail.value});
    }
  }
  return out;
}

std::vector<Move> moves_of(const json& list, int s, int d) {
  for (const json& slice : list) {
    if (slice[0] == s && slice[1] == d) return slice[2].get<std::vector<Move>>();
  }
  return {};
}

void check_slice(const json& one, const Topology& topology, const RailCounts& counts,
                 NodePair pair) {
  const int s = pair.source.value;
  const int d = pair.destination.value;
  SCOPED_TRACE("slice " + std::to_string(s) + " -> " + std::to_string(d));
  const int start = one["start"][s][d];
  EXPECT_EQ(remainder_starts(topology, counts, pair.source)[pair.destination.index()], start);
  const auto quota = slice_quotas(topology, counts, pair, start);
  for (int r = 0; r < topology.rails(); ++r) {
    EXPECT_EQ(quota[static_cast<std::size_t>(r)], one["quotas"][s][r][d].get<std::int64_t>());
  }
  EXPECT_EQ(moves(balance_slice(topology, counts, pair, start)),
            moves_of(one["balanced_moves"], s, d));
  EXPECT_EQ(moves(keep_home_rails(topology, counts, pair, start)),
            moves_of(one["home_rail_moves"], s, d));
}

TEST(Vectors, StartsQuotasAndEveryMove) {
  const json all = read("rail_balance.json");
  ASSERT_EQ(all.size(), 120U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Topology topology = topology_from(all[i]);
    const RailCounts counts = counts_from(all[i]["counts"], topology.nodes(), topology.rails());
    for (int s = 0; s < topology.nodes(); ++s) {
      for (int d = 0; d < topology.nodes(); ++d) {
        if (s != d) check_slice(all[i], topology, counts, {NodeId(s), NodeId(d)});
      }
    }
  }
}

Windows windows_from(const json& list) {
  Windows windows;
  for (const json& one : list) {
    Window& window = windows.emplace_back();
    for (const json& pair : one)
      window.push_back({NodeId(pair[0].get<int>()), NodeId(pair[1].get<int>())});
  }
  return windows;
}

void check_descriptors(const json& one, const RailCounts& counts, const Windows& windows) {
  // One byte a row: the vectors count in records.
  const auto found = describe(counts, windows, 1, one["ranks"]);
  ASSERT_TRUE(found) << to_string(found.error());
  const json& expected = one["descriptors"];
  EXPECT_EQ(text(found->payload), expected["B"].get<std::string>());
  EXPECT_EQ(found->fan_in, expected["phi"].get<int>());
  ASSERT_EQ(found->rail_skew.has_value(), !expected["rho"].is_null());
  ASSERT_EQ(found->receiver_concentration.has_value(), !expected["kappa"].is_null());
  if (found->rail_skew) {
    EXPECT_EQ(text(*found->rail_skew), expected["rho"].get<std::string>());
    EXPECT_EQ(text(*found->receiver_concentration), expected["kappa"].get<std::string>());
  }
}

TEST(Vectors, DescriptorsAndBounds) {
  const json all = read("phases.json");
  ASSERT_EQ(all.size(), 60U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE("phase " + std::to_string(i));
    const Topology topology = topology_from(all[i]);
    const RailCounts counts = counts_from(all[i]["counts"], topology.nodes(), topology.rails());
    const Windows windows = windows_from(all[i]["windows"]);
    check_descriptors(all[i], counts, windows);
    EXPECT_EQ(text(bound_records(topology, counts)), all[i]["bound_records"].get<std::string>());
    for (const Path path : kAllPaths) {
      const auto plan = DispatchPlan::create(topology, counts, {path, windows});
      ASSERT_TRUE(plan) << to_string(plan.error());
      EXPECT_EQ(barrier_path_bound_records(*plan),
                all[i]["barrier_path_bound_records"][std::string(to_string(path))])
          << to_string(path);
    }
  }
}

}  // namespace
}  // namespace railwave::plan
