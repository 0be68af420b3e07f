// Nodes on one rail whose gates, bytes and messages move one tick at a time, in any order.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "sched/level_counter.hpp"
#include "sched/start_gate.hpp"

namespace ticks {

/// Bytes that one node sends to another in one window.
struct Flow {
  int window;
  int source;
  int destination;
  std::int64_t bytes;
};

struct Scenario {
  railwave::StartPolicy policy = railwave::StartPolicy::RailBarrier;
  int windows = 0;
  std::vector<int> drivers;  // [N] drivers of each node, >= 1
  std::vector<Flow> flows;
  std::int64_t lead = 0;   // of a node, shared by its drivers
  std::uint64_t seed = 0;  // of the order in which things happen
};

/// What a run has shown.
struct Outcome {
  bool all_arrived = false;
  bool all_settled = false;
  int max_fan_in = 0;                // nodes between first and last arrived byte at one receiver
  std::int64_t most_missing = 0;     // bytes of earlier windows that a receiver lacked when a
                                     // sender started a packet of a later one
  bool left_before_barrier = false;  // a byte left before all nodes had all windows before
  std::int64_t messages = 0;
};

/// At each tick one thing that can happen does: a driver hands a packet to the network, or the
/// network delivers a packet or a level. Ends when nothing can happen any more.
class Simulator {
 public:
  explicit Simulator(const Scenario& scenario);
  Outcome run();

 private:
  struct Lane {  // what one driver sends to one other driver in one window
    int window;
    int source;
    int source_driver;
    int destination;
    int destination_driver;
    std::int64_t unsent;
    std::int64_t missing;  // not arrived
    std::int64_t planned;
  };
  struct Packet {
    std::size_t lane;
    std::int64_t bytes;
  };
  struct Level {
    int from;
    int to;
    int level;
  };
  [[nodiscard]] railwave::sched::GateShape shape_of(int node) const;
  [[nodiscard]] std::int64_t missing(int node, int before_window) const;
  [[nodiscard]] bool sendable(const Lane& lane) const;
  void send(Lane& lane);
  void deliver_packet();
  void deliver_level();
  void raise(int node);
  void measure_fan_in(int node);

  Scenario scenario_;
  std::mt19937_64 rng_;
  int nodes_;
  std::vector<Lane> lanes_;
  std::vector<railwave::sched::StartGate> gates_;                   // [N]
  std::vector<std::vector<railwave::sched::LevelCounter>> levels_;  // [N][drivers]
  std::vector<int> told_;                                           // [N]
  std::vector<Packet> packets_;
  std::vector<Level> messages_;
  Outcome outcome_;
};

}  // namespace ticks
