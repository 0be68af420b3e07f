// Strong ids: a rank can not be passed where a node is wanted.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace railwave {

template <class Tag>
struct Id {
  std::int32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::int32_t v) : value(v) {}
  constexpr explicit Id(std::size_t v) : value(static_cast<std::int32_t>(v)) {}
  /// The id as a container index. REQUIRES: value >= 0.
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using NodeId = Id<struct NodeTag>;      ///< a machine; its ranks share memory
using RankId = Id<struct RankTag>;      ///< a process, numbered over the whole group, node by node
using RailId = Id<struct RailTag>;      ///< a network plane, the same number in every node
using ExpertId = Id<struct ExpertTag>;  ///< an expert, numbered over the whole model

/// An ordered pair of different nodes: `source` sends to `destination`.
struct NodePair {
  NodeId source;
  NodeId destination;
  friend constexpr auto operator<=>(NodePair, NodePair) = default;
};

}  // namespace railwave

template <class Tag>
struct std::hash<railwave::Id<Tag>> {
  std::size_t operator()(railwave::Id<Tag> id) const noexcept {
    return std::hash<std::int32_t>{}(id.value);
  }
};
