// The process between a cluster's owner and its process 1.
#pragma once

#include <sys/types.h>

#include "switch_process.hpp"

namespace railwave::testbed {

struct Guardian {
  pid_t pid = -1;
  UniqueFd lifeline;  ///< while it is open the cluster lives; closing it kills all of it
  UniqueFd runs;      ///< the owner's ends of SwitchSockets
  UniqueFd requests;
};

/// Forks a guardian, which clones process 1 into namespaces of its own and waits. Everything ends
/// when the lifeline closes, when the calling thread ends (PDEATHSIG) and when process 1 ends; the
/// guardian ends last. Errors: Unsupported, ResourceExhausted.
Result<Guardian> start_guardian(const ClusterSpec& spec);

/// Closes the lifeline and waits until every process of the cluster is gone; kills a guardian that
/// does not end within 10 s.
void end_guardian(Guardian& guardian);

}  // namespace railwave::testbed
