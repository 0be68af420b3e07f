#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/fail.hpp"
#include "comm/bootstrap.hpp"

namespace railwave::comm {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

tl::unexpected<Error> missing(const char* name, std::string_view why) {
  return fail(ErrorCode::InvalidArgument, name, fmt::format("{} is not set; {}", name, why));
}

/// A whole number in [low, high].
Result<int> number(const char* name, int low, int high) {
  const auto text = variable(name);
  if (!text) return missing(name, "the launcher should set it");
  int value = 0;
  const char* end = text->data() + text->size();
  const auto [rest, code] = std::from_chars(text->data(), end, value);
  if (code == std::errc{} && rest == end && value >= low && value <= high) return value;
  return fail(ErrorCode::InvalidArgument, name,
              fmt::format("{}='{}' is not a number from {} to {}", name, *text, low, high));
}

constexpr int kAny = std::numeric_limits<int>::max();

/// How one launcher spells who a process is.
struct Launcher {
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_size;  ///< nullptr: from SLURM_TASKS_PER_NODE
  const char* node;        ///< nullptr: it does not say
  const char* job;
};

// In this order: a launcher started by Slurm leaves Slurm's variables in place.
constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RUN_ID"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr, "PMIX_NAMESPACE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr, "PMI_JOBID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr, "SLURM_NODEID", "SLURM_JOB_ID"},
};

/// Reads a list like "2(x3),1": two tasks on each of three nodes, one on the fourth.
std::optional<int> tasks_on_node(std::string_view list, int node) {
  const auto take = [&list](int& value) {
    const auto [rest, code] = std::from_chars(list.data(), list.data() + list.size(), value);
    list.remove_prefix(static_cast<std::size_t>(rest - list.data()));
    return code == std::errc{} && value > 0;
  };
  const auto skip = [&list](std::string_view text) {
    const bool there = list.starts_with(text);
    if (there) list.remove_prefix(text.size());
    return there;
  };
  do {
    int tasks = 0;
    int nodes = 1;
    if (!take(tasks)) return std::nullopt;
    if (skip("(x") && (!take(nodes) || !skip(")"))) return std::nullopt;
    if (node < nodes) return tasks;
    node -= nodes;
  } while (skip(","));
  return std::nullopt;
}

Result<int> slurm_local_size() {
  const char* name =
      variable("SLURM_STEP_TASKS_PER_NODE") ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
  const auto list = variable(name);
  if (!list) return missing(name, "Slurm should set it");
  const auto node = number("SLURM_NODEID", 0, kAny);
  if (!node) return node;
  if (const auto tasks = tasks_on_node(*list, *node)) return *tasks;
  return fail(ErrorCode::InvalidArgument, name,
              fmt::format("{}='{}' does not tell the tasks of node {}", name, *list, *node));
}

Result<int> node_of(const Launcher& launcher, const LaunchIdentity& identity) {
  const int last = identity.world_size - 1;
  if (variable("RAILWAVE_NODE")) return number("RAILWAVE_NODE", 0, last);
  if (launcher.node != nullptr && variable(launcher.node)) return number(launcher.node, 0, last);
  if (variable("SLURM_NODEID")) return number("SLURM_NODEID", 0, last);
  if (identity.local_size == identity.world_size) return 0;
  return missing("RAILWAVE_NODE", "this launcher does not number the nodes, so set it on each");
}

/// Equal on every rank of a job, and with luck different between jobs that share a machine.
std::uint64_t job_of(const Launcher& launcher, const LaunchIdentity& identity) {
  auto name = variable("RAILWAVE_JOB");
  if (!name) {
    name = fmt::format("{}@{}:{}", variable(launcher.job).value_or(""), identity.address,
                       identity.port);
  }
  return XXH3_64bits(name->data(), name->size());
}

Status read_place(const Launcher& launcher, LaunchIdentity& identity) {
  const auto world = number(launcher.world_size, 1, kAny);
  if (!world) return fail(world.error());
  const auto rank = number(launcher.rank, 0, *world - 1);
  if (!rank) return fail(rank.error());
  const auto local_size =
      launcher.local_size != nullptr ? number(launcher.local_size, 1, *world) : slurm_local_size();
  if (!local_size) return fail(local_size.error());
  const auto local_rank = number(launcher.local_rank, 0, *local_size - 1);
  if (!local_rank) return fail(local_rank.error());
  identity.world_size = *world;
  identity.rank = *rank;
  identity.local_size = *local_size;
  identity.local_rank = *local_rank;
  const auto node = node_of(launcher, identity);
  if (!node) return fail(node.error());
  identity.node = *node;
  return {};
}

}  // namespace

Result<LaunchIdentity> identity_from_environment() {
  const Launcher* found = nullptr;
  for (const Launcher& launcher : kLaunchers) {
    if (found == nullptr && variable(launcher.rank)) found = &launcher;
  }
  if (found == nullptr) {
    return missing("RANK", "start the program with torchrun, mpirun or srun, or set its variables");
  }
  LaunchIdentity identity;
  RAILWAVE_TRY(read_place(*found, identity));
  const auto address = variable("MASTER_ADDR");
  if (!address) return missing("MASTER_ADDR", "set it to the address of rank 0's node");
  identity.address = *address;
  const auto port = number("MASTER_PORT", 1, 65535);
  if (!port) return fail(port.error());
  identity.port = static_cast<std::uint16_t>(*port);
  identity.job = job_of(*found, identity);
  return identity;
}

}  // namespace railwave::comm
