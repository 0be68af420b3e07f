// Engines of a whole cluster over loopback rails, for tests of the executor's parts.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "exec/rank_engine.hpp"
#include "exec/segment_map.hpp"
#include "transport/loopback_rail.hpp"
#include "transport/thread_fabric.hpp"

namespace engines {

/// Counts the signals that a rank gives.
class CountingFabric final : public railwave::transport::NodeFabric {
 public:
  CountingFabric(std::unique_ptr<railwave::transport::NodeFabric> inner, std::atomic<int>& signals)
      : inner_(std::move(inner)), signals_(signals) {}
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] int local() const override { return inner_->local(); }
  [[nodiscard]] std::span<std::byte> own() override { return inner_->own(); }
  [[nodiscard]] std::span<const std::byte> segment(int peer) const override {
    return std::as_const(*inner_).segment(peer);
  }
  void signal(int peer) override {
    ++signals_;
    inner_->signal(peer);
  }
  [[nodiscard]] int wait_fd() const override { return inner_->wait_fd(); }
  railwave::Status poll() override { return inner_->poll(); }

 private:
  std::unique_ptr<railwave::transport::NodeFabric> inner_;
  std::atomic<int>& signals_;
};

/// All ranks of a cluster, every driver connected with every driver that it can meet.
class Cluster {
 public:
  static constexpr std::uint64_t kJob = 77;
  static constexpr std::uint32_t kGeneration = 3;

  Cluster(railwave::Topology shape, const railwave::exec::Limits& sizes)
      : topology(std::move(shape)), limits(sizes) {
    using namespace railwave;
    engines.resize(static_cast<std::size_t>(topology.ranks()));
    maps.resize(static_cast<std::size_t>(topology.nodes()));
    for (int n = 0; n < topology.nodes(); ++n) furnish(NodeId(n));
    for (int p = 0; p < topology.ranks(); ++p) connect(RankId(p));
  }

  [[nodiscard]] railwave::exec::RankEngine& engine(int rank) {
    return *engines[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const std::vector<railwave::exec::SegmentMap>& maps_of(int rank) const {
    return maps[topology.node_of(railwave::RankId(rank)).index()];
  }
  /// Runs `body` for each of `ranks` in its own thread.
  static void run(const std::vector<int>& ranks, const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (const int rank : ranks) threads.emplace_back([&body, rank] { body(rank); });
    for (std::thread& thread : threads) thread.join();
  }
  [[nodiscard]] std::vector<int> all() const {
    std::vector<int> out;
    for (int p = 0; p < topology.ranks(); ++p) out.push_back(p);
    return out;
  }

  railwave::Topology topology;
  railwave::exec::Limits limits;
  railwave::transport::LoopbackSwitch loopback;
  std::atomic<int> signals{0};
  std::vector<std::vector<railwave::exec::SegmentMap>> maps;  // [N][G]
  std::vector<std::unique_ptr<railwave::exec::RankEngine>> engines;

 private:
  void furnish(railwave::NodeId node) {
    using namespace railwave;
    std::vector<std::int64_t> bytes;
    for (int local = 0; local < topology.ranks_at(node); ++local) {
      const RankId rank = topology.rank_at(node, local);
      maps[node.index()].push_back(exec::SegmentMap::of(topology, limits, rank));
      bytes.push_back(maps[node.index()].back().bytes);
    }
    auto fabrics = transport::make_thread_fabrics(bytes);
    ASSERT_TRUE(fabrics);
    for (int local = 0; local < topology.ranks_at(node); ++local) {
      const RankId rank = topology.rank_at(node, local);
      exec::RankEngine::Parts parts{topology, rank, kJob, kGeneration, nullptr, {}};
      parts.fabric = std::make_unique<CountingFabric>(
          std::move((*fabrics)[static_cast<std::size_t>(local)]), signals);
      for (int r = 0; r < topology.rails(); ++r) {
        const auto drivers = topology.drivers(node, RailId(r));
        const bool drives = topology.live(node, RailId(r)) &&
                            std::find(drivers.begin(), drivers.end(), rank) != drivers.end();
        parts.rails.push_back(drives ? loopback.plug(rank, RailId(r)) : nullptr);
      }
      engines[rank.index()] = *exec::RankEngine::create(std::move(parts));
    }
  }

  void connect(railwave::RankId self) {
    using namespace railwave;
    exec::RankEngine& own = *engines[self.index()];
    for (int r = 0; r < topology.rails(); ++r) {
      if (!own.drives(RailId(r))) continue;
      for (int n = 0; n < topology.nodes(); ++n) {
        const NodeId node = topology.node_of(self);
        const auto eligible = topology.eligible(node, NodeId(n));
        if (NodeId(n) == node ||
            std::find(eligible.begin(), eligible.end(), RailId(r)) == eligible.end()) {
          continue;
        }
        const RailId far = topology.ingress(node, NodeId(n), RailId(r));
        for (const RankId peer : topology.drivers(NodeId(n), far)) {
          const auto address = engines[peer.index()]->rail(far).address();
          ASSERT_TRUE(own.rail(RailId(r)).connect(peer, address));
        }
      }
    }
  }
};

inline railwave::exec::Limits small_limits() {
  railwave::exec::Limits limits;
  limits.max_tokens = 16;
  limits.max_recv_rows = 64;
  limits.max_row_bytes = 16;
  limits.max_top_k = 2;
  limits.chunk_bytes = 64;
  limits.send_slots = 2;
  return limits;
}

inline railwave::Deadline in_ms(int milliseconds) {
  return railwave::Clock::now() + std::chrono::milliseconds(milliseconds);
}

}  // namespace engines
