// Which rank owns which expert.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

namespace railwave {

/// An immutable map expert -> owner rank (DESIGN section 4). Threads: may be shared freely.
class Placement {
 public:
  /// Contiguous: the first E mod P ranks own one expert more; with E < P the last ranks own none.
  /// Errors: InvalidArgument when experts < 1 or ranks < 1.
  static Result<Placement> contiguous(int experts, int ranks);
  /// Any map: owner[e] is the rank of expert e.
  /// Errors: InvalidArgument when empty or an owner is outside [0, ranks).
  static Result<Placement> from_owners(std::vector<RankId> owner, int ranks);

  [[nodiscard]] int experts() const { return static_cast<int>(owner_.size()); }
  [[nodiscard]] int ranks() const { return static_cast<int>(owned_.size()); }
  [[nodiscard]] RankId owner(ExpertId expert) const { return owner_[expert.index()]; }
  /// Position of the expert among its owner's experts, ascending.
  [[nodiscard]] int local_index(ExpertId expert) const { return local_index_[expert.index()]; }
  /// The rank's experts, ascending.
  [[nodiscard]] std::span<const ExpertId> owned(RankId rank) const { return owned_[rank.index()]; }
  /// A hash of the map, equal on every machine.
  [[nodiscard]] std::uint64_t fingerprint() const;

 private:
  Placement() = default;
  std::vector<RankId> owner_;
  std::vector<int> local_index_;
  std::vector<std::vector<ExpertId>> owned_;
};

}  // namespace railwave
