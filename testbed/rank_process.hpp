// One rank: a command inside a node, without any privilege.
#pragma once

#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "namespaces.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::testbed {

/// What is the same for all ranks of a run.
struct Command {
  std::vector<std::string> argv{};
  std::vector<std::string> environment{};  ///< "NAME=value"
  std::string directory{};
  std::int64_t run = 0;       ///< counts the runs of a cluster; gives each its own MASTER_PORT
  std::string job{};          ///< 64 random bits in hex
  rlimit descriptor_limit{};  ///< RLIMIT_NOFILE of the ranks
};

struct RankProcess {
  pid_t pid = -1;
  UniqueFd exited;  ///< readable once the process has ended
  UniqueFd output;  ///< its standard output
  UniqueFd errors;  ///< its standard error
};

/// The command's environment and the variables of docs/formats/cluster.md.
/// Shapes: local in [0, G_node).
std::vector<std::string> rank_environment(const ClusterSpec& spec, const Command& command,
                                          NodeId node, int local);

/// REQUIRES: the calling process has one thread and owns the user namespace of `node`.
Result<RankProcess> start_rank(const NamespaceSet& node, const Command& command,
                               const std::vector<std::string>& environment);

}  // namespace railwave::testbed
