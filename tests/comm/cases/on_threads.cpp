#include "comm/cases/on_threads.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "group/thread_world.hpp"

namespace cases {
namespace {

/// What the ranks of one group share.
struct Meeting {
  explicit Meeting(const Topology& topology)
      : desk(topology), gathers(railwave::comm::make_thread_all_gathers(topology.ranks())) {}
  world::FabricDesk desk;
  railwave::transport::LoopbackSwitch loopback;
  std::vector<std::unique_ptr<railwave::comm::AllGather>> gathers;
};

/// The meeting of each rank's first group, of its second and so on.
class Meetings {
 public:
  explicit Meetings(const Topology& topology) : topology_(topology) {}
  Meeting& at(std::uint32_t generation) {
    const std::lock_guard lock(mutex_);
    auto& meeting = meetings_[generation];
    if (!meeting) meeting = std::make_unique<Meeting>(topology_);
    return *meeting;
  }

 private:
  Topology topology_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::unique_ptr<Meeting>> meetings_;
};

railwave::comm::Wiring wire(Meeting& meeting, RankId self, std::uint32_t generation,
                            const Run& run) {
  railwave::comm::Wiring wiring;
  wiring.all_gather = std::move(meeting.gathers[self.index()]);
  wiring.job = 7;
  wiring.generation = generation;
  wiring.meet_node = [&meeting, self](std::int64_t bytes, railwave::Deadline) {
    return meeting.desk.meet(self, bytes);
  };
  wiring.open_rail = [&meeting, self,
                      &run](RailId rail) -> Result<std::unique_ptr<railwave::transport::Rail>> {
    auto plugged = meeting.loopback.plug(self, rail);
    if (run.wrap) plugged = run.wrap(self, std::move(plugged));
    if (run.number == 0) return plugged;
    railwave::transport::FaultOptions faults;
    faults.seed = static_cast<std::uint64_t>(run.number) * 4096 + self.index() * 64 + rail.index();
    faults.max_delay = std::chrono::milliseconds(5);
    faults.reorder = true;
    return railwave::transport::with_faults(std::move(plugged), faults);
  };
  return wiring;
}

/// What each rank does at the moment, for the watchdog.
class States {
 public:
  explicit States(std::size_t ranks) : states_(ranks, "not begun") {}
  void set(std::size_t rank, std::string state) {
    const std::lock_guard lock(mutex_);
    states_[rank] = std::move(state);
  }
  void print() {
    const std::lock_guard lock(mutex_);
    for (std::size_t p = 0; p < states_.size(); ++p) {
      std::fprintf(stderr, "  rank %zu: %s\n", p, states_[p].c_str());
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> states_;
};

}  // namespace

std::array<Path, 4> paths_of(int run) {
  auto paths = railwave::kAllPaths;
  std::mt19937_64 rng(static_cast<std::uint64_t>(run));
  if (run != 0) std::shuffle(paths.begin(), paths.end(), rng);
  return paths;
}

std::vector<std::uint64_t> run_on_threads(const Case& one, const Topology& topology,
                                          const Run& run) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  Meetings meetings(topology);
  States states(ranks);
  const world::Watchdog watchdog(run.limit, [&] { states.print(); });
  std::vector<std::uint64_t> bits(ranks);
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < ranks; ++p) {
    threads.emplace_back([&, p] {
      std::uint32_t made = 0;
      Rank rank{RankId(p), topology, {}, [] {}, {}, paths_of(run.number)};
      rank.doing = [&](const std::string& state) { states.set(p, state); };
      rank.make = [&](const Placement& placement, const CommunicatorOptions& options) {
        const std::uint32_t generation = made++;
        states.set(p, "making group " + std::to_string(generation));
        return Communicator::create(topology, placement, options,
                                    wire(meetings.at(generation), rank.self, generation, run));
      };
      one.body(rank);
      bits[p] = rank.bits;
      states.set(p, "ended");
    });
  }
  for (std::thread& thread : threads) thread.join();
  return bits;
}

}  // namespace cases
