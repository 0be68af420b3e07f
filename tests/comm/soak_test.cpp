// One group for a long time on an emulated cluster: random shapes, types, layouts and paths, two
// handles at a time, waited for one after the other or under way at once, every row and every sum
// checked; and nothing of what a process holds grows.
// 60 s, or half an hour for those who ask for long tests (set by the build); RAILWAVE_SOAK_SECONDS
// says otherwise.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/event_loop.hpp"
#include "comm/cases/on_cluster.hpp"
#include "group/held.hpp"
#include "group/phase_check.hpp"
#include "testbed/emulated_cluster.hpp"

namespace {

namespace testbed = railwave::testbed;
using railwave::Path;
using railwave::RowLayout;
using std::chrono::seconds;

constexpr int kSamples = 60;  // in all; the first third is the warm-up
constexpr int kWarmUp = kSamples / 3;
/// Pairs of phases between two looks at the clock.
constexpr std::uint64_t kPairs = 4;
constexpr int kMostTokens = 64;
constexpr int kMostHidden = 200;

/// Nodes of different size, several ranks on a rail, chi not the identity.
testbed::ClusterSpec spec() {
  testbed::ClusterSpec spec;
  spec.ranks_per_node = {2, 3, 1};
  spec.rails = 2;
  spec.bridges = {{0, 1}, {1, 0}, {0, 1}};
  spec.rate = 2'000'000'000;
  return spec;
}

/// What all steps of the group have in common.
phases::Shape group_shape() {
  phases::Shape shape;
  shape.cluster = testbed::topology_options(spec());
  shape.seed = 2026;  // several frames a stream, two slots, windows one after the other
  phases::Dice dice(shape.seed);
  phases::draw_experts(shape, dice);
  return shape;
}

phases::Shape random_step(const phases::Shape& group, std::uint64_t seed) {
  phases::Shape shape = group;
  shape.seed = seed;
  phases::Dice dice(seed);
  phases::draw_step(shape, dice);
  return shape;
}

/// The most that a step can bring to the owner of one expert.
phases::Shape full_step(const phases::Shape& group, int expert, RowLayout layout) {
  phases::Shape shape = group;
  shape.seed = 1;  // odd: with its repetition
  shape.layout = layout;
  shape.model.top_k = std::min(8, shape.experts);
  shape.model.hidden = kMostHidden;
  shape.model.type = reference::Type::FP32;
  shape.model.idx.assign(
      shape.model.node_of_rank.size(),
      std::vector<std::int64_t>(static_cast<std::size_t>(kMostTokens * shape.model.top_k), expert));
  return shape;
}

railwave::CommunicatorOptions settings_of(const phases::Shape& group, railwave::RankId self) {
  auto options = phases::options_of(group, self);
  options.phases_in_flight = 2;
  options.max_top_k = 8;
  options.widest_dtype = railwave::DType::FP32;
  const auto ranks = static_cast<std::int64_t>(group.model.node_of_rank.size());
  options.max_recv_rows = kMostTokens * ranks * options.max_top_k + 16 * group.experts;
  return options;
}

Path path_of(std::uint64_t seed) {
  const auto at = static_cast<std::size_t>(phases::mix(seed) % 8);
  return at < 4 ? railwave::kAllPaths[at] : railwave::kBaselinePaths[at - 4];
}

/// A phase that is alive together with another one.
class Phase {
 public:
  Phase(railwave::Communicator& group, railwave::RankId self, phases::Shape shape)
      : shape_(std::move(shape)),
        taking_(path_of(shape_.seed)),
        check_(group, self, shape_, taking_) {}
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  /// What is done to the two phases of a pair, in this order: 'd'ispatch, 'r'epeat, 'c'ombine;
  /// `overlaps`: it is only begun, and ended before the phase's next one.
  phases::Wrong take(char step, bool overlaps) {
    if (auto wrong = end()) return wrong;
    if (!overlaps) return check_.take(step);
    under_way_ = true;
    return check_.begin(step);
  }
  /// Of what is under way, if anything is.
  phases::Wrong end() { return std::exchange(under_way_, false) ? check_.end() : std::nullopt; }

 private:
  phases::Shape shape_;
  phases::Taking taking_;
  phases::PhaseCheck check_;
  bool under_way_ = false;
};

/// Orders of the steps of phases A (upper case) and B.
constexpr std::array<std::string_view, 5> kOrders{"DdCc", "DdcC", "DdRcC", "DdrRcC", "DdCcRrcC"};

int run_pair(railwave::Communicator& group, railwave::RankId self, const phases::Shape& common,
             std::uint64_t pair) {
  Phase a(group, self, random_step(common, 2 * pair));
  Phase b(group, self, random_step(common, 2 * pair + 1));
  const auto order = kOrders[phases::mix(pair) % kOrders.size()];
  const bool overlaps = phases::mix(pair + 7'000'000) % 2 == 0;
  phases::Wrong wrong;
  for (const char step : order) {
    const bool first = step < 'a';
    if (wrong) break;
    wrong = first ? a.take(static_cast<char>(step - 'A' + 'a'), overlaps) : b.take(step, overlaps);
  }
  if (!wrong) wrong = a.end();
  if (!wrong) wrong = b.end();
  if (wrong) ADD_FAILURE() << *wrong << ", pair " << pair << " in order " << order;
  return wrong ? 0 : static_cast<int>(order.size());
}

/// The largest steps first: what grows to the largest step has grown before the measurement.
void touch_all(cases::Rank& rank, railwave::Communicator& group, const phases::Shape& common) {
  for (int expert = 0; expert < common.experts; ++expert) {
    for (const RowLayout layout : {RowLayout::RankMajor, RowLayout::ExpertMajor}) {
      const auto wrong =
          phases::check(group, rank.self, full_step(common, expert, layout), Path::Joint);
      ASSERT_FALSE(wrong) << *wrong;
    }
  }
}

/// Rank 0 looks at the clock for all: the samples that are due by now.
int samples_due(railwave::Communicator& group, double part) {
  const std::array<std::byte, 1> mine{
      static_cast<std::byte>(std::clamp(static_cast<int>(part * kSamples), 0, kSamples))};
  const auto all = group.all_gather(mine);
  if (!all) ADD_FAILURE() << to_string(all.error());
  return all ? std::to_integer<int>(all->front().front()) : -1;
}

/// The library's own heap stays the same to the byte; UCX takes blocks of up to some KiB or, as
/// pages, of some hundred when a queue gets longer than ever before. A leak of 32 bytes in every
/// second step is more than the slack between the thirds of a minute, and of any kind of half an
/// hour.
constexpr std::array kLimits{held::Limit{"heap", &held::Held::heap, 64 << 10},
                             held::Limit{"anonymous memory", &held::Held::anonymous, 1 << 20},
                             held::Limit{"shared mappings", &held::Held::mapped, 0},
                             held::Limit{"number of descriptors", &held::Held::descriptors, 0},
                             held::Limit{"number of threads", &held::Held::threads, 0}};

void say(const held::Held& held, const std::string& when) {
  cases::say(fmt::format("{}: heap {} anonymous {} shared {} of {} KiB, {} descriptors, {} threads",
                         when, held.heap >> 10, held.anonymous >> 10, held.shared >> 10,
                         held.mapped >> 10, held.descriptors, held.threads));
}

/// Pairs of phases for so many seconds; what this rank holds, after each sixtieth of the time.
std::vector<held::Held> watch(cases::Rank& rank, railwave::Communicator& group,
                              const phases::Shape& common, double time) {
  std::vector<held::Held> samples;
  samples.reserve(kSamples);
  std::int64_t steps = 0;
  const auto start = railwave::Clock::now();
  for (std::uint64_t pair = 1; samples.size() < kSamples; ++pair) {
    rank.doing(fmt::format("pair {}", pair));
    steps += run_pair(group, rank.self, common, pair);
    if (testing::Test::HasFailure()) return samples;
    if (pair % kPairs != 0) continue;
    const std::chrono::duration<double> since = railwave::Clock::now() - start;
    const int due = samples_due(group, since.count() / time);
    if (due <= static_cast<int>(samples.size())) continue;
    samples.resize(static_cast<std::size_t>(due), held::now());
    say(samples.back(), fmt::format("{:.1f} s, {} steps", since.count(), steps));
  }
  return samples;
}

void soak(cases::Rank& rank, const std::vector<std::string>& words) {
  const phases::Shape common = group_shape();
  auto group = rank.make(phases::placement_of(common), settings_of(common, rank.self));
  ASSERT_TRUE(group) << to_string(group.error());
  rank.doing("full steps");
  touch_all(rank, *group, common);
  if (testing::Test::HasFailure()) return;
  auto samples = watch(rank, *group, common, std::stod(words[0]));
  if (testing::Test::HasFailure()) return;
  samples.erase(samples.begin(), samples.begin() + kWarmUp);
  for (const held::Limit& limit : kLimits) {
    const auto wrong = held::grown(samples, limit);
    EXPECT_FALSE(wrong) << "rank " << rank.self.value << ": " << *wrong;
  }
}

int soak_seconds() {
  const char* asked = std::getenv("RAILWAVE_SOAK_SECONDS");
  return asked != nullptr ? std::max(1, std::atoi(asked)) : RAILWAVE_SOAK_SECONDS_BY_DEFAULT;
}

TEST(Soak, NothingGrowsAndNoRowIsWrong) {
  // For the ranks: malloc counts what lies in a thread's cache as given out.
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
  RAILWAVE_START_CLUSTER(cluster, spec());
  cases::Job job{"soak", {std::to_string(soak_seconds())}};
  job.limit = seconds(60 + 2 * soak_seconds());
  job.on_line = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  cases::run_on_cluster(cluster, job);
}

// What the test itself must not miss.
TEST(Held, GrowthIsSeenAndPeaksAreNot) {
  const held::Limit limit{"heap", &held::Held::heap, 100};
  std::vector<held::Held> samples(9);
  samples[4].heap = 1'000'000;
  samples[8].heap = 1'000'000;
  EXPECT_FALSE(held::grown(samples, limit));
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].heap = 30 * static_cast<int>(i);
  EXPECT_TRUE(held::grown(samples, limit));
}

}  // namespace

int main(int argc, char** argv) { return cases::run_tests_or_rank(argc, argv, {{"soak", soak}}); }
