// Namespaces: the cluster's own (user, process, mount, network) and one set per node.
#pragma once

#include <string>

#include <sys/types.h>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"

namespace railwave::testbed {

/// The failed step `what` as a typed error: Unsupported with the remedy where the system forbids
/// it, ResourceExhausted where something ran out, else Internal. `error` is an errno.
Error system_failure(const std::string& what, int error);

/// Forks into new user, process, mount, network, host name and IPC namespaces; 0 in the child,
/// which is process 1 there and must wait until the parent has called map_own_user.
Result<pid_t> clone_into_cluster();
/// Maps the caller's uid and gid, and only those, into the child's user namespace.
Status map_own_user(pid_t child);

/// In process 1: mounts become private, /proc shows the cluster's processes where that is allowed.
Status prepare_cluster_mounts();

/// The namespaces of a node, or of the cluster itself. Held by descriptors, so that a node needs no
/// process to stay alive.
struct NamespaceSet {
  UniqueFd network;
  UniqueFd mount;
  UniqueFd host_name;
  UniqueFd ipc;
};

/// Those in which the calling thread is now.
Result<NamespaceSet> current_namespaces();
Status enter(const NamespaceSet& set);
Status enter_network(const NamespaceSet& set);

/// A new node: own network, mounts (/dev/shm, /sys), host name and IPC. The caller is inside it
/// afterwards. Errors: Unsupported.
Result<NamespaceSet> create_node(const std::string& host_name);

/// Writes one kernel setting of the current network namespace, for example
/// ("net/ipv4/tcp_slow_start_after_idle", "0").
Status write_sysctl(const std::string& name, const std::string& value);

}  // namespace railwave::testbed
