#include "topology_check.hpp"

#include <limits>
#include <string>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"

namespace railwave {
namespace {

using Options = Topology::Options;

template <class... Values>
auto reject(const char* option, fmt::format_string<Values...> text, Values&&... values) {
  return fail(ErrorCode::InvalidArgument, option,
              fmt::format(text, std::forward<Values>(values)...));
}

Status check_ranks(const Options& options) {
  if (options.ranks_per_node.empty()) {
    return reject("ranks_per_node", "there is no node; name at least one");
  }
  std::int64_t ranks = 0;
  for (std::size_t node = 0; node < options.ranks_per_node.size(); ++node) {
    const int here = options.ranks_per_node[node];
    if (here < 1) return reject("ranks_per_node", "node {} has {} ranks; it needs 1", node, here);
    ranks += here;
  }
  if (ranks > std::numeric_limits<std::int32_t>::max()) {
    return reject("ranks_per_node", "{} ranks in all do not fit into 32 bits", ranks);
  }
  return {};
}

Status check_home_rails(const Options& options) {
  const std::size_t nodes = options.ranks_per_node.size();
  if (options.home_rail.empty()) return {};
  if (options.home_rail.size() != nodes) {
    return reject("home_rail", "{} nodes given, expected {}", options.home_rail.size(), nodes);
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto& row = options.home_rail[node];
    const auto ranks = static_cast<std::size_t>(options.ranks_per_node[node]);
    if (row.size() != ranks) {
      return reject("home_rail", "node {} has {} entries, expected {}, one a rank", node,
                    row.size(), ranks);
    }
    for (std::size_t local = 0; local < ranks; ++local) {
      if (row[local] >= 0 && row[local] < options.rails) continue;
      return reject("home_rail", "node {}, local rank {}: rail {} is outside [0, {})", node, local,
                    row[local], options.rails);
    }
  }
  return {};
}

Status check_live(const Options& options) {
  const std::size_t nodes = options.ranks_per_node.size();
  if (options.live.empty()) return {};
  if (options.live.size() != nodes) {
    return reject("live", "{} nodes given, expected {}", options.live.size(), nodes);
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    if (options.live[node].size() == static_cast<std::size_t>(options.rails)) continue;
    return reject("live", "node {} has {} entries, expected {}, one a rail", node,
                  options.live[node].size(), options.rails);
  }
  return {};
}

Status check_bijection(const std::vector<int>& chi, std::size_t s, std::size_t d, int rails) {
  if (chi.size() != static_cast<std::size_t>(rails)) {
    return reject("ingress", "nodes {} to {}: {} entries, expected {}, one a rail", s, d,
                  chi.size(), rails);
  }
  std::vector<bool> taken(chi.size(), false);
  for (const int rail : chi) {
    if (rail < 0 || rail >= rails) {
      return reject("ingress", "nodes {} to {}: rail {} is outside [0, {})", s, d, rail, rails);
    }
    if (taken[static_cast<std::size_t>(rail)]) {
      return reject("ingress", "nodes {} to {}: rail {} is met twice; it must be a bijection", s, d,
                    rail);
    }
    taken[static_cast<std::size_t>(rail)] = true;
  }
  return {};
}

Status check_ingress(const Options& options) {
  const std::size_t nodes = options.ranks_per_node.size();
  if (options.ingress.empty()) return {};
  if (options.ingress.size() != nodes) {
    return reject("ingress", "{} sources given, expected {}", options.ingress.size(), nodes);
  }
  for (std::size_t s = 0; s + 1 < nodes; ++s) {
    const auto& row = options.ingress[s];
    if (row.size() != nodes) {
      return reject("ingress", "source {} has {} destinations, expected {}", s, row.size(), nodes);
    }
    for (std::size_t d = s + 1; d < nodes; ++d) {
      RAILWAVE_TRY(check_bijection(row[d], s, d, options.rails));
    }
  }
  return {};
}

Status check_weights(const Options& options) {
  const std::size_t nodes = options.ranks_per_node.size();
  if (options.weights.empty()) return {};
  if (options.weights.size() != nodes) {
    return reject("weights", "{} nodes given, expected {}", options.weights.size(), nodes);
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto& row = options.weights[node];
    if (row.size() != static_cast<std::size_t>(options.rails)) {
      return reject("weights", "node {} has {} entries, expected {}, one a rail", node, row.size(),
                    options.rails);
    }
    std::int64_t sum = 0;
    for (std::size_t rail = 0; rail < row.size(); ++rail) {
      if (row[rail] < 1) {
        return reject("weights",
                      "node {}, rail {}: weight {}; it must be above 0 (a rail that is "
                      "down is marked in live)",
                      node, rail, row[rail]);
      }
      const auto next = checked_add(sum, row[rail]);
      if (!next) return reject("weights", "node {}: the sum does not fit into 64 bits", node);
      sum = *next;
    }
  }
  return {};
}

}  // namespace

Status check_options(const Options& options) {
  RAILWAVE_TRY(check_ranks(options));
  if (options.rails < 1) return reject("rails", "{} rails; there must be 1", options.rails);
  RAILWAVE_TRY(check_home_rails(options));
  RAILWAVE_TRY(check_live(options));
  RAILWAVE_TRY(check_ingress(options));
  return check_weights(options);
}

}  // namespace railwave
