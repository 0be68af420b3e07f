#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include <railwave/topology.hpp>

#include "base/fail.hpp"
#include "fingerprint.hpp"
#include "topology_check.hpp"

namespace railwave {
namespace {

int default_home_rail(int local, int rails, int ranks) {
  return static_cast<int>(static_cast<std::int64_t>(local) * rails / ranks);
}

/// chi[s,d,r] for all s and d from the upper triangle that the options hold.
std::vector<RailId> ingress_table(const Topology::Options& options) {
  const std::size_t nodes = options.ranks_per_node.size();
  const auto rails = static_cast<std::size_t>(options.rails);
  std::vector<RailId> table(nodes * nodes * rails);
  for (std::size_t s = 0; s < nodes; ++s) {
    for (std::size_t r = 0; r < rails; ++r) table[(s * nodes + s) * rails + r] = RailId(r);
    for (std::size_t d = s + 1; d < nodes; ++d) {
      for (std::size_t r = 0; r < rails; ++r) {
        const RailId ingress(options.ingress[s][d][r]);
        table[(s * nodes + d) * rails + r] = ingress;
        table[(d * nodes + s) * rails + ingress.index()] = RailId(r);
      }
    }
  }
  return table;
}

bool is_identity(const std::vector<RailId>& table, std::size_t rails) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].index() != i % rails) return false;
  }
  return true;
}

}  // namespace

Result<Topology> Topology::uniform(int nodes, int ranks_per_node, int rails) {
  if (nodes < 1) {
    return fail(ErrorCode::InvalidArgument, "nodes",
                fmt::format("{} nodes; there must be 1", nodes));
  }
  Options options;
  options.ranks_per_node.assign(static_cast<std::size_t>(nodes), ranks_per_node);
  options.rails = rails;
  return create(std::move(options));
}

Result<Topology> Topology::create(Options options) {
  RAILWAVE_TRY(check_options(options));
  Topology topology;
  topology.rails_ = options.rails;
  topology.number_ranks(options);
  topology.assign_drivers();
  topology.wire(options);
  RAILWAVE_TRY(topology.find_all_eligible());
  topology.weigh(options);
  return topology;
}

void Topology::number_ranks(const Options& options) {
  first_rank_.push_back(0);
  for (std::size_t node = 0; node < options.ranks_per_node.size(); ++node) {
    const int ranks = options.ranks_per_node[node];
    for (int local = 0; local < ranks; ++local) {
      node_of_.push_back(NodeId(node));
      home_rail_.push_back(RailId(options.home_rail.empty()
                                      ? default_home_rail(local, rails_, ranks)
                                      : options.home_rail[node][static_cast<std::size_t>(local)]));
    }
    first_rank_.push_back(first_rank_.back() + ranks);
  }
}

void Topology::assign_drivers() {
  const auto rails = static_cast<std::size_t>(rails_);
  first_driver_.push_back(0);
  for (NodeId node(0); node.value < nodes(); ++node.value) {
    std::vector<std::vector<RankId>> drivers(rails);
    for (int local = 0; local < ranks_at(node); ++local) {
      const RankId rank = rank_at(node, local);
      drivers[home_rail(rank).index()].push_back(rank);
    }
    for (std::size_t rail = 0; rail < rails; ++rail) {
      if (drivers[rail].empty()) {
        const auto r = static_cast<std::int64_t>(rail);
        drivers[rail].push_back(rank_at(node, static_cast<int>(r * ranks_at(node) / rails_)));
      }
      drivers_.insert(drivers_.end(), drivers[rail].begin(), drivers[rail].end());
      first_driver_.push_back(static_cast<std::uint32_t>(drivers_.size()));
    }
  }
}

void Topology::wire(const Options& options) {
  const auto rails = static_cast<std::size_t>(rails_);
  live_.assign(static_cast<std::size_t>(nodes()) * rails, true);
  for (std::size_t i = 0; !options.live.empty() && i < live_.size(); ++i) {
    live_[i] = options.live[i / rails][i % rails];
  }
  if (options.ingress.empty()) return;
  ingress_ = ingress_table(options);
  // One form for one shape, so that fingerprints agree.
  if (is_identity(ingress_, rails)) ingress_.clear();
}

std::vector<RailId> Topology::find_eligible(NodePair pair) const {
  std::vector<RailId> rails;
  for (RailId r(0); r.value < rails_; ++r.value) {
    if (live(pair.source, r) && live(pair.destination, ingress(pair.source, pair.destination, r))) {
      rails.push_back(r);
    }
  }
  return rails;
}

Status Topology::find_all_eligible() {
  std::map<std::vector<RailId>, std::uint32_t> known;
  for (NodeId s(0); s.value < nodes(); ++s.value) {
    for (NodeId d(0); d.value < nodes(); ++d.value) {
      auto rails = find_eligible({s, d});
      if (rails.empty() && s != d) {
        return fail(ErrorCode::LinkDown, "live",
                    fmt::format("nodes {} and {} share no live rail; bring one up on both", s.value,
                                d.value));
      }
      const auto next = static_cast<std::uint32_t>(rail_sets_.size());
      const auto [set, is_new] = known.emplace(rails, next);
      if (is_new) rail_sets_.push_back(std::move(rails));
      eligible_.push_back(set->second);
    }
  }
  return {};
}

void Topology::weigh(const Options& options) {
  for (const auto& row : options.weights) weight_.insert(weight_.end(), row.begin(), row.end());
  if (weight_.empty()) return;
  weight_unit_ = std::accumulate(weight_.begin(), weight_.end(), std::int64_t{0},
                                 [](auto a, auto b) { return std::gcd(a, b); });
  for (std::int64_t& weight : weight_) weight /= weight_unit_;
  if (std::all_of(weight_.begin(), weight_.end(), [](auto weight) { return weight == 1; })) {
    weight_.clear();
    return;
  }
  uneven_.assign(static_cast<std::size_t>(nodes()), false);
  for (NodeId s(0); s.value < nodes(); ++s.value) {
    for (NodeId d(0); d.value < nodes() && !uneven_[s.index()]; ++d.value) {
      uneven_[s.index()] = s != d && is_uneven({s, d});
    }
  }
}

bool Topology::is_uneven(NodePair slice) const {
  const auto rails = eligible(slice.source, slice.destination);
  return std::any_of(rails.begin(), rails.end(), [&](RailId rail) {
    return weight(slice, rail) != weight(slice, rails.front());
  });
}

std::span<const RankId> Topology::drivers(NodeId node, RailId rail) const {
  const std::size_t at = node.index() * static_cast<std::size_t>(rails_) + rail.index();
  return std::span(drivers_).subspan(first_driver_[at], first_driver_[at + 1] - first_driver_[at]);
}

bool Topology::live(NodeId node, RailId rail) const {
  return live_[node.index() * static_cast<std::size_t>(rails_) + rail.index()];
}

RailId Topology::ingress(NodeId source, NodeId destination, RailId egress) const {
  if (ingress_.empty()) return egress;
  const auto n = static_cast<std::size_t>(nodes());
  return ingress_[(source.index() * n + destination.index()) * static_cast<std::size_t>(rails_) +
                  egress.index()];
}

std::uint64_t Topology::fingerprint() const {
  Fingerprint hash;
  hash.add(nodes());
  hash.add(rails_);
  for (const int first : first_rank_) hash.add(first);
  for (const RailId rail : home_rail_) hash.add(rail.value);
  for (const bool up : live_) hash.add(up ? 1 : 0);
  for (const RailId rail : ingress_) hash.add(rail.value);
  for (const std::int64_t weight : weight_) hash.add(weight);
  return hash.value();
}

}  // namespace railwave
