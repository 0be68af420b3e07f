#include <fmt/format.h>

#include <railwave/placement.hpp>

#include "base/fail.hpp"
#include "fingerprint.hpp"

namespace railwave {

Result<Placement> Placement::contiguous(int experts, int ranks) {
  if (experts < 1 || ranks < 1) {
    return fail(ErrorCode::InvalidArgument, experts < 1 ? "num_experts" : "num_ranks",
                fmt::format("{} experts on {} ranks; there must be 1 of each", experts, ranks));
  }
  std::vector<RankId> owner;
  owner.reserve(static_cast<std::size_t>(experts));
  for (int rank = 0; rank < ranks && static_cast<int>(owner.size()) < experts; ++rank) {
    const int own = experts / ranks + (rank < experts % ranks ? 1 : 0);
    owner.insert(owner.end(), static_cast<std::size_t>(own), RankId(rank));
  }
  return from_owners(std::move(owner), ranks);
}

Result<Placement> Placement::from_owners(std::vector<RankId> owner, int ranks) {
  if (owner.empty()) {
    return fail(ErrorCode::InvalidArgument, "num_experts", "there is no expert; name at least one");
  }
  if (ranks < 1) {
    return fail(ErrorCode::InvalidArgument, "num_ranks",
                fmt::format("{} ranks; there must be 1", ranks));
  }
  Placement placement;
  placement.owned_.resize(static_cast<std::size_t>(ranks));
  placement.local_index_.reserve(owner.size());
  for (std::size_t expert = 0; expert < owner.size(); ++expert) {
    if (owner[expert].value < 0 || owner[expert].value >= ranks) {
      return fail(ErrorCode::InvalidArgument, "owner",
                  fmt::format("expert {} is owned by rank {}, which is outside [0, {})", expert,
                              owner[expert].value, ranks));
    }
    auto& owned = placement.owned_[owner[expert].index()];
    placement.local_index_.push_back(static_cast<int>(owned.size()));
    owned.push_back(ExpertId(expert));
  }
  placement.owner_ = std::move(owner);
  return placement;
}

std::uint64_t Placement::fingerprint() const {
  Fingerprint hash;
  hash.add(ranks());
  for (const RankId rank : owner_) hash.add(rank.value);
  return hash.value();
}

}  // namespace railwave
