#include "testbed/gate.hpp"

#include <fmt/format.h>

namespace railwave::testbed {

std::string GateResult::sentence() const {
  if (!shaping_works) {
    return fmt::format("shaping does not work: a lone transfer took {:.3f} of its least time",
                       lone_time);
  }
  if (machine_is_limit) {
    const std::string resent = retransmissions == 0
                                   ? ""
                                   : fmt::format(
                                         " ({} segments were sent again: rto_min may be too "
                                         "short for this rate)",
                                         retransmissions);
    return fmt::format(
        "the machine is the limit: the slowest rail reached {:.3f} of its rate, "
        "less than {:.2f}; use lower rates or fewer rails{}",
        lowest_share, kLeastShare, resent);
  }
  return fmt::format(
      "passed: the slowest rail reached {:.3f} of its rate, a lone transfer took "
      "{:.3f} of its least time",
      lowest_share, lone_time);
}

}  // namespace railwave::testbed
