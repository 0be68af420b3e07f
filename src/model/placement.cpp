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
  std::vector<ExpertId> logical;
  for (std::size_t expert = 0; expert < owner.size(); ++expert) logical.emplace_back(expert);
  return replicated(std::move(owner), std::move(logical), ranks);
}

namespace {

/// The copies of each logical expert.
Result<std::vector<std::vector<ExpertId>>> replicas_of(const std::vector<ExpertId>& logical) {
  std::vector<std::vector<ExpertId>> replicas;
  for (std::size_t expert = 0; expert < logical.size(); ++expert) {
    const std::int32_t of = logical[expert].value;
    // More logical experts than physical ones leave some without a copy.
    if (of < 0 || of >= static_cast<std::int32_t>(logical.size())) {
      return fail(ErrorCode::InvalidArgument, "logical",
                  fmt::format("expert {} is a copy of logical expert {}, which is outside [0, {})",
                              expert, of, logical.size()));
    }
    const auto at = static_cast<std::size_t>(of);
    if (at >= replicas.size()) replicas.resize(at + 1);
    replicas[at].emplace_back(expert);
  }
  for (std::size_t of = 0; of < replicas.size(); ++of) {
    if (!replicas[of].empty()) continue;
    return fail(ErrorCode::InvalidArgument, "logical",
                fmt::format("logical expert {} of {} has no copy; number them without gaps", of,
                            replicas.size()));
  }
  return replicas;
}

}  // namespace

Result<Placement> Placement::replicated(std::vector<RankId> owner, std::vector<ExpertId> logical,
                                        int ranks) {
  if (owner.empty()) {
    return fail(ErrorCode::InvalidArgument, "num_experts", "there is no expert; name at least one");
  }
  if (ranks < 1) {
    return fail(ErrorCode::InvalidArgument, "num_ranks",
                fmt::format("{} ranks; there must be 1", ranks));
  }
  if (logical.size() != owner.size()) {
    return fail(ErrorCode::InvalidArgument, "logical",
                fmt::format("{} values for {} experts; there must be one for each", logical.size(),
                            owner.size()));
  }
  auto replicas = replicas_of(logical);
  if (!replicas) return fail(std::move(replicas).error());
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
  placement.logical_ = std::move(logical);
  placement.replicas_ = *std::move(replicas);
  return placement;
}

std::uint64_t Placement::fingerprint() const {
  Fingerprint hash;
  hash.add(ranks());
  for (const RankId rank : owner_) hash.add(rank.value);
  for (const ExpertId expert : logical_) hash.add(expert.value);
  return hash.value();
}

}  // namespace railwave
