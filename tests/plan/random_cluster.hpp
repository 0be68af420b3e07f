// Random clusters and record counts, and the definitions of DESIGN 5.1 written record by record.
// Nothing here uses the library but its option struct: it is what the library is compared with.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include <rapidcheck.h>

#include <railwave/topology.hpp>

#include "model/rail_counts.hpp"

namespace railwave::reference {

using Counts = std::vector<std::vector<std::vector<std::int64_t>>>;  // [s][r][d]

struct Cluster {
  Topology::Options options;
  Counts counts;
  [[nodiscard]] int nodes() const { return static_cast<int>(options.ranks_per_node.size()); }
  [[nodiscard]] int rails() const { return options.rails; }
};

void showValue(const Cluster& cluster, std::ostream& out);

struct Shape {
  int max_nodes = 5;
  int max_rails = 6;
  std::int64_t max_records = 30;
  bool missing_rails = true;
  bool uneven_rails = false;  ///< weights, of any kind
};

/// Any ranks per node, any home rails, any chi, some rails missing; every pair keeps a rail.
rc::Gen<Cluster> any_cluster(Shape shape = {});

/// The same cluster and counts as the library's values.
Topology topology_of(const Cluster& cluster);
RailCounts counts_of(const Cluster& cluster);

int chi(const Cluster& cluster, int s, int d, int egress);
std::vector<int> eligible(const Cluster& cluster, int s, int d);
std::int64_t records(const Cluster& cluster, int s, int d);
/// The slower of an egress rail's two ends; 1 without weights.
std::int64_t weight(const Cluster& cluster, int s, int d, int egress);
/// start(s, d), -1 where s == d.
int start(const Cluster& cluster, int s, int d);
/// Records of the slice that each rail shall carry, [R].
std::vector<std::int64_t> quotas(const Cluster& cluster, int s, int d);

/// Where one record goes.
struct Placed {
  int home;
  std::int64_t index;
  int rail;
  std::int64_t slot;
  friend auto operator<=>(const Placed&, const Placed&) = default;
};
void showValue(const Placed& placed, std::ostream& out);

/// rail_only and joint, ascending (home, index).
std::vector<Placed> balanced(const Cluster& cluster, int s, int d);
/// native and permutation_only, ascending (home, index).
std::vector<Placed> at_home(const Cluster& cluster, int s, int d);
/// Records a rail carries.
std::int64_t load(const std::vector<Placed>& placed, int rail);

}  // namespace railwave::reference
