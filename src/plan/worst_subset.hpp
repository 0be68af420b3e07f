// The rails of one node that its records need most.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <boost/dynamic_bitset.hpp>

#include "model/descriptors.hpp"

namespace railwave::plan {

using RailSet = boost::dynamic_bitset<>;  // [R]
/// Records of one node, in one direction, by the set of its rails that they can use. No set is
/// empty, no number of records 0.
using RecordsByRails = std::map<RailSet, std::int64_t>;

bool larger(const Ratio& a, const Ratio& b);

/// The larger of `known` and the maximum over sets A of rails of
///   (records whose rails lie in A) / (weight of A).
/// Exact. `weights` [R] of the node's rails; they, and the records, add up within 64 bits.
/// Cost: with up to four different sets O(R); with more of them, k, a maximum flow between k sets
/// and R rails, and another one as often as that finds a larger ratio, which is a few times.
/// Source: Dinkelbach, On nonlinear fractional programming (1967); Picard, Maximal closure of a
/// graph (1976).
Ratio worst_subset(const RecordsByRails& records, const std::vector<std::int64_t>& weights,
                   Ratio known);

}  // namespace railwave::plan
