// Rails between threads of one process, for tests.
#pragma once

#include <memory>

#include <railwave/ids.hpp>

#include "transport/rail.hpp"

namespace railwave::transport {

/// The switch that loopback rails plug into. Threads: may be shared by all.
class LoopbackSwitch {
 public:
  LoopbackSwitch();
  ~LoopbackSwitch();
  /// A rail of `rank`. Its address names the switch, the rank and the rail.
  std::unique_ptr<Rail> plug(RankId rank, RailId rail);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace railwave::transport
