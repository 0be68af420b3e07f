#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "comm/bootstrap.hpp"

namespace railwave::comm {
namespace {

using Parts = std::vector<std::vector<std::byte>>;

struct Round {
  explicit Round(std::size_t ranks) : parts(ranks), came(ranks, false) {}
  Parts parts;
  std::vector<bool> came;
  std::size_t taken = 0;
  [[nodiscard]] std::vector<int> missing() const {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < came.size(); ++i) {
      if (!came[i]) ranks.push_back(static_cast<int>(i));
    }
    return ranks;
  }
};

/// What the threads share. Every field but `bells` is guarded by `mutex`.
struct Table {
  explicit Table(std::size_t ranks) : gone(ranks, false) {
    for (std::size_t i = 0; i < ranks; ++i) {
      bells.emplace_back(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    }
  }
  void ring_all() const {
    const std::uint64_t one = 1;
    for (const UniqueFd& bell : bells) {
      [[maybe_unused]] const auto written = ::write(bell.get(), &one, sizeof(one));
    }
  }
  std::vector<UniqueFd> bells;
  std::mutex mutex;
  std::map<std::uint64_t, Round> rounds;
  std::vector<bool> gone;
};

class ThreadAllGather final : public AllGather {
 public:
  ThreadAllGather(std::shared_ptr<Table> table, std::size_t rank)
      : table_(std::move(table)), rank_(rank) {}
  ~ThreadAllGather() override {
    const std::lock_guard lock(table_->mutex);
    table_->gone[rank_] = true;
    table_->ring_all();
  }
  ThreadAllGather(const ThreadAllGather&) = delete;
  ThreadAllGather& operator=(const ThreadAllGather&) = delete;

  Result<Parts> all_gather(std::span<const std::byte> mine, Deadline deadline) override {
    if (failed_) return fail(*failed_);
    auto parts = gather(mine, deadline);
    if (!parts) failed_ = parts.error();
    ++round_;
    return parts;
  }

 private:
  Result<Parts> gather(std::span<const std::byte> mine, Deadline deadline) {
    auto loop = EventLoop::create();
    if (!loop) return fail(loop.error());
    const UniqueFd& bell = table_->bells[rank_];
    if (!bell) return fail(ErrorCode::ResourceExhausted, "eventfd", "no descriptor was left");
    RAILWAVE_TRY(loop->watch(bell.get(), 0));
    give(mine);
    while (true) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const auto got = ::read(bell.get(), &rings, sizeof(rings));
      const bool late = Clock::now() >= deadline;
      if (auto outcome = look(late)) return std::move(*outcome);
      auto ready = loop->wait(deadline);
      if (!ready) return fail(ready.error());
    }
  }

  void give(std::span<const std::byte> mine) {
    const std::lock_guard lock(table_->mutex);
    Round& round = table_->rounds.try_emplace(round_, size()).first->second;
    round.parts[rank_].assign(mine.begin(), mine.end());
    round.came[rank_] = true;
    if (round.missing().empty()) table_->ring_all();
  }

  /// The outcome of the round, as soon as there is one.
  std::optional<Result<Parts>> look(bool late) {
    const std::lock_guard lock(table_->mutex);
    const auto found = table_->rounds.find(round_);
    RAILWAVE_CHECK(found != table_->rounds.end());
    const auto missing = found->second.missing();
    if (missing.empty()) {
      Parts parts = found->second.parts;
      if (++found->second.taken == size()) table_->rounds.erase(found);
      return Result<Parts>(std::move(parts));
    }
    for (const int rank : missing) {
      if (!table_->gone[static_cast<std::size_t>(rank)]) continue;
      return fail(ErrorCode::PeerFailed, RankId(rank), "bootstrap",
                  fmt::format("rank {} has ended", rank));
    }
    if (!late) return std::nullopt;
    return fail(ErrorCode::Timeout, RankId(missing.front()), "missing",
                fmt::format("ranks [{}] did not come in time", fmt::join(missing, ",")));
  }

  [[nodiscard]] std::size_t size() const { return table_->bells.size(); }

  std::shared_ptr<Table> table_;
  std::size_t rank_;
  std::uint64_t round_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

std::vector<std::unique_ptr<AllGather>> make_thread_all_gathers(int ranks) {
  RAILWAVE_CHECK(ranks >= 0);
  auto table = std::make_shared<Table>(static_cast<std::size_t>(ranks));
  std::vector<std::unique_ptr<AllGather>> all;
  for (std::size_t i = 0; i < table->bells.size(); ++i) {
    all.push_back(std::make_unique<ThreadAllGather>(table, i));
  }
  return all;
}

}  // namespace railwave::comm
