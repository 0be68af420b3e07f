#include "namespaces.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fail.hpp"

namespace railwave::testbed {
namespace {

constexpr int kNodeNamespaces = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC;

Status write_file(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return fail(system_failure("open " + path, errno));
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail(system_failure("write " + path, errno));
  }
  return {};
}

Status mount_fresh(const char* kind, const char* where, unsigned long flags) {
  const unsigned long all = flags | MS_NOSUID | MS_NODEV;
  if (::mount(kind, where, kind, all, nullptr) == 0) return {};
  return fail(system_failure(fmt::format("mount {} on {}", kind, where), errno));
}

}  // namespace

Error system_failure(const std::string& what, int error) {
  const std::string reason = fmt::format("can not {}: {}", what, std::strerror(error));
  switch (error) {
    case ENOSPC:
    case EUSERS:
      return {ErrorCode::Unsupported, -1, "namespaces",
              reason + "; raise user.max_user_namespaces and user.max_net_namespaces (sysctl)"};
    case EPERM:
    case EACCES:
    case EROFS:
    case EINVAL:
    case ENOSYS:
    case ENOENT:
    case ENODEV:
      return {ErrorCode::Unsupported, -1, "namespaces",
              reason +
                  "; this system forbids it: allow unprivileged user namespaces (sysctl "
                  "kernel.unprivileged_userns_clone=1, "
                  "kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces "
                  "above 0), and run neither in a chroot nor in a container that masks /proc "
                  "or /sys"};
    case EMFILE:
    case ENFILE:
      return {ErrorCode::ResourceExhausted, -1, "descriptors",
              reason + "; raise the limit of open files (ulimit -n)"};
    case ENOMEM:
    case EAGAIN:
      return {ErrorCode::ResourceExhausted, -1, "processes",
              reason + "; use fewer nodes or ranks, or raise the limit of processes (ulimit -u)"};
    default:
      return {ErrorCode::Internal, -1, "namespaces", reason};
  }
}

Result<pid_t> clone_into_cluster() {
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER | CLONE_NEWPID | static_cast<unsigned>(kNodeNamespaces);
  arguments.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return fail(system_failure("create a user namespace", errno));
  return static_cast<pid_t>(pid);
}

Status map_own_user(pid_t child) {
  const std::string base = fmt::format("/proc/{}/", child);
  RAILWAVE_TRY(write_file(base + "setgroups", "deny"));
  RAILWAVE_TRY(write_file(base + "uid_map", fmt::format("{0} {0} 1\n", ::geteuid())));
  return write_file(base + "gid_map", fmt::format("{0} {0} 1\n", ::getegid()));
}

Status prepare_cluster_mounts() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return fail(system_failure("make mounts private", errno));
  }
  // Where the outer /proc is partly masked this is refused; then the outer one stays.
  (void)::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  return {};
}

Result<NamespaceSet> current_namespaces() {
  NamespaceSet set;
  const auto open_one = [](const char* name) {
    const std::string path = fmt::format("/proc/self/ns/{}", name);
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  };
  set.network = open_one("net");
  set.mount = open_one("mnt");
  set.host_name = open_one("uts");
  set.ipc = open_one("ipc");
  if (!set.network || !set.mount || !set.host_name || !set.ipc) {
    return fail(system_failure("open /proc/self/ns", errno));
  }
  return set;
}

Status enter(const NamespaceSet& set) {
  // A mount namespace can not be entered while another thread shares the working directory.
  if (::unshare(CLONE_FS) != 0) return fail(system_failure("unshare the directory", errno));
  const bool entered = ::setns(set.network.get(), CLONE_NEWNET) == 0 &&
                       ::setns(set.host_name.get(), CLONE_NEWUTS) == 0 &&
                       ::setns(set.ipc.get(), CLONE_NEWIPC) == 0 &&
                       ::setns(set.mount.get(), CLONE_NEWNS) == 0;
  if (!entered) return fail(system_failure("enter a node", errno));
  return {};
}

Status enter_network(const NamespaceSet& set) {
  if (::setns(set.network.get(), CLONE_NEWNET) == 0) return {};
  return fail(system_failure("enter a network namespace", errno));
}

Result<NamespaceSet> create_node(const std::string& host_name) {
  if (::unshare(kNodeNamespaces) != 0) return fail(system_failure("create a node", errno));
  if (::sethostname(host_name.data(), host_name.size()) != 0) {
    return fail(system_failure("set the host name", errno));
  }
  RAILWAVE_TRY(mount_fresh("tmpfs", "/dev/shm", 0));
  RAILWAVE_TRY(mount_fresh("sysfs", "/sys", MS_RDONLY | MS_NOEXEC));
  return current_namespaces();
}

Status write_sysctl(const std::string& name, const std::string& value) {
  return write_file("/proc/sys/" + name, value);
}

}  // namespace railwave::testbed
