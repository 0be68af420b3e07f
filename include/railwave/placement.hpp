// Which rank owns which expert.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

namespace railwave {

/// An immutable map expert -> owner rank (DESIGN section 4). Experts here, and those that routing
/// names, are physical: copies of weights on a rank. With replicas several of them are copies of
/// one logical expert, the model's; which of them a token goes to, the caller's router has decided.
/// Threads: may be shared freely.
class Placement {
 public:
  /// Contiguous: the first E mod P ranks own one expert more; with E < P the last ranks own none.
  /// Errors: InvalidArgument when experts < 1 or ranks < 1.
  static Result<Placement> contiguous(int experts, int ranks);
  /// Any map: owner[e] is the rank of expert e.
  /// Errors: InvalidArgument when empty or an owner is outside [0, ranks).
  static Result<Placement> from_owners(std::vector<RankId> owner, int ranks);

  /// With replicas: logical[e] in 0 .. L - 1 is the model's expert of which physical expert e is a
  /// copy. Each logical one has at least one copy.
  /// Errors: InvalidArgument as from_owners(), and naming `logical` for another length, a negative
  /// number or a logical expert without a copy.
  static Result<Placement> replicated(std::vector<RankId> owner, std::vector<ExpertId> logical,
                                      int ranks);

  [[nodiscard]] int experts() const { return static_cast<int>(owner_.size()); }
  [[nodiscard]] int ranks() const { return static_cast<int>(owned_.size()); }
  [[nodiscard]] RankId owner(ExpertId expert) const { return owner_[expert.index()]; }
  /// Position of the expert among its owner's experts, ascending.
  [[nodiscard]] int local_index(ExpertId expert) const { return local_index_[expert.index()]; }
  /// The rank's experts, ascending.
  [[nodiscard]] std::span<const ExpertId> owned(RankId rank) const { return owned_[rank.index()]; }
  /// L; as many as experts() without replicas.
  [[nodiscard]] int logical_experts() const { return static_cast<int>(replicas_.size()); }
  /// The model's expert of which `expert` is a copy; without replicas itself.
  [[nodiscard]] ExpertId logical(ExpertId expert) const { return logical_[expert.index()]; }
  /// The copies of a logical expert, ascending; at least one.
  [[nodiscard]] std::span<const ExpertId> replicas(ExpertId logical) const {
    return replicas_[logical.index()];
  }
  /// A hash of the map, equal on every machine.
  [[nodiscard]] std::uint64_t fingerprint() const;

 private:
  Placement() = default;
  std::vector<RankId> owner_;
  std::vector<int> local_index_;
  std::vector<std::vector<ExpertId>> owned_;
  std::vector<ExpertId> logical_;                // by physical expert
  std::vector<std::vector<ExpertId>> replicas_;  // by logical expert
};

}  // namespace railwave
