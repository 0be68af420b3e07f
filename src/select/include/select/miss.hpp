// By how much a phase misses an anchor, exact, as text for people.
#pragma once

#include <string>

#include "model/descriptors.hpp"
#include "select/cost_table.hpp"

namespace railwave::select {

/// One coordinate that lies outside an anchor's neighbourhood, as decimals without an exponent.
struct Miss {
  std::string off;      ///< how far it lies: 4 digits, and as many as it takes to exceed `allowed`
  std::string allowed;  ///< the most that is eligible, exact
  std::string beyond;   ///< how far it lies beyond the edge, 4 digits
};

/// off: the larger payload over the smaller; beyond: per cent of the edge.
/// REQUIRES (all three): a table that check() accepts, and a phase that lies outside of `anchor` in
/// this coordinate (Offset::inside is false).
Miss payload_miss(const CostTable& table, const Descriptors& phase, const Anchor& anchor);
/// off: |rho - rho_j|; beyond: in the units of rho.
Miss rail_skew_miss(const CostTable& table, const Descriptors& phase, const Anchor& anchor);
/// off: |kappa - kappa_j|; beyond: in the units of kappa.
Miss concentration_miss(const CostTable& table, const Descriptors& phase, const Anchor& anchor);

}  // namespace railwave::select
