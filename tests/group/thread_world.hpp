// A group whose ranks are threads of this process, over loopback rails and one mapping.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <railwave/communicator.hpp>

#include "comm/bootstrap.hpp"
#include "comm/wiring.hpp"
#include "exec/segment_map.hpp"
#include "transport/fault_rail.hpp"
#include "transport/loopback_rail.hpp"
#include "transport/thread_fabric.hpp"

namespace world {

/// Ends the process with each rank's state when a test does not end in time.
class Watchdog {
 public:
  Watchdog(std::chrono::seconds limit, std::function<void()> dump)
      : thread_([this, limit, dump = std::move(dump)] {
          std::unique_lock lock(mutex_);
          if (ended_.wait_for(lock, limit, [this] { return done_; })) return;
          std::fprintf(stderr, "watchdog: test not finished in time\n");
          dump();
          std::abort();
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    ended_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

/// Shared by the ranks of one group: the node fabrics are made when all sizes are known.
class FabricDesk {
 public:
  explicit FabricDesk(const railwave::Topology& topology) : topology_(topology) {}
  railwave::Result<std::unique_ptr<railwave::transport::NodeFabric>> meet(railwave::RankId rank,
                                                                          std::int64_t bytes) {
    const railwave::NodeId node = topology_.node_of(rank);
    const auto size = static_cast<std::size_t>(topology_.ranks_at(node));
    const auto local = static_cast<std::size_t>(topology_.local_of(rank));
    std::unique_lock lock(mutex_);
    Node& at = nodes_[node.value];
    at.bytes.resize(size);
    at.bytes[local] = bytes;
    if (++at.arrived == size) {
      auto made = railwave::transport::make_thread_fabrics(at.bytes);
      if (!made) return tl::unexpected(made.error());
      at.fabrics = std::move(*made);
      met_.notify_all();
    }
    met_.wait(lock, [&] { return !at.fabrics.empty(); });
    return std::move(at.fabrics[local]);
  }

 private:
  struct Node {
    std::vector<std::int64_t> bytes;
    std::size_t arrived = 0;
    std::vector<std::unique_ptr<railwave::transport::NodeFabric>> fabrics;
  };
  railwave::Topology topology_;
  std::mutex mutex_;
  std::condition_variable met_;
  std::map<int, Node> nodes_;
};

struct Options {
  std::chrono::seconds limit{60};
  railwave::transport::FaultOptions faults{};  ///< max_delay 0: none
  /// When set, puts something around each rail.
  std::function<std::unique_ptr<railwave::transport::Rail>(
      std::unique_ptr<railwave::transport::Rail>)>
      wrap{};
};

using Body = std::function<void(railwave::RankId, railwave::Result<railwave::Communicator>&)>;
using Settings = std::function<railwave::CommunicatorOptions(railwave::RankId)>;
using PlacementOf = std::function<railwave::Placement(railwave::RankId)>;

/// Runs `body` on every rank with its communicator (or the error that making it gave).
inline void run(const railwave::Topology& topology, const PlacementOf& placement,
                const Settings& settings, const Body& body, const Options& options = {}) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  std::vector<std::atomic<int>> state(ranks);
  Watchdog watchdog(options.limit, [&] {
    for (std::size_t p = 0; p < ranks; ++p) {
      std::fprintf(stderr, "  rank %zu: %s\n", p,
                   state[p] == 0   ? "making the group"
                   : state[p] == 1 ? "in the test"
                                   : "ended");
    }
  });
  FabricDesk desk(topology);
  railwave::transport::LoopbackSwitch loopback;
  auto gathers = railwave::comm::make_thread_all_gathers(topology.ranks());
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < ranks; ++p) {
    threads.emplace_back([&, p, gather = std::move(gathers[p])]() mutable {
      const railwave::RankId self(p);
      railwave::comm::Wiring wiring;
      wiring.all_gather = std::move(gather);
      wiring.job = 7;
      wiring.meet_node = [&, self](std::int64_t bytes, railwave::Deadline) {
        return desk.meet(self, bytes);
      };
      wiring.open_rail = [&, self](railwave::RailId rail)
          -> railwave::Result<std::unique_ptr<railwave::transport::Rail>> {
        auto plugged = loopback.plug(self, rail);
        if (options.wrap) return options.wrap(std::move(plugged));
        if (options.faults.max_delay.count() == 0) return plugged;
        auto faults = options.faults;
        faults.seed += p * 64 + rail.index();
        return railwave::transport::with_faults(std::move(plugged), faults);
      };
      auto group = railwave::Communicator::create(topology, placement(self), settings(self),
                                                  std::move(wiring));
      state[p] = 1;
      body(self, group);
      state[p] = 2;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace world
