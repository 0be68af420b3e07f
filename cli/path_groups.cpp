#include "path_groups.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "comm/bootstrap.hpp"
#include "comm/wiring.hpp"
#include "phase_start.hpp"

namespace railwave::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> rail_devices(int rails) {
  const char* text = std::getenv("RAILWAVE_RAILS");
  std::vector<std::string> devices = split(text != nullptr ? text : "");
  if (static_cast<int>(devices.size()) != rails) {
    return fail(ErrorCode::InvalidArgument, "RAILWAVE_RAILS",
                fmt::format("names {} rails, the cluster has {}", devices.size(), rails));
  }
  for (std::string& device : devices) {
    if (device == "-") device.clear();
  }
  return devices;
}

namespace {

Result<Communicator> make_group(const Topology& topology, const Placement& placement,
                                const CommunicatorOptions& options,
                                const comm::UcxWiringOptions& wires) {
  const auto devices = rail_devices(topology.rails());
  if (!devices) return fail(devices.error());
  auto wiring = comm::wire_over_ucx(topology, options.self, *devices,
                                    Clock::now() + options.deadlines.init, wires);
  if (!wiring) return fail(std::move(wiring).error());
  return Communicator::create(topology, placement, options, std::move(*wiring));
}

CommunicatorOptions options_of(const GroupSettings& settings, RankId self) {
  CommunicatorOptions out;
  out.self = self;
  out.max_tokens_per_rank = std::max<std::int64_t>(settings.max_tokens, 1);
  out.max_recv_rows = std::max<std::int64_t>(settings.max_recv_rows, 1);
  out.max_hidden = settings.hidden;
  out.widest_dtype = settings.dtype;
  out.max_top_k = settings.top_k;
  out.window_start = settings.window_start;
  if (settings.wave_start) out.wave_start = *settings.wave_start;
  if (settings.lead_bytes) out.lead_bytes = *settings.lead_bytes;
  if (settings.chunk_bytes) out.chunk_bytes = *settings.chunk_bytes;
  if (settings.rows_in_place) {
    const std::int64_t rows = out.max_tokens_per_rank + out.max_recv_rows;
    constexpr std::int64_t kLine = 64;  // each of the two buffers ends in one of its own
    out.shared_bytes = rows * settings.hidden * element_bytes(settings.dtype) + 2 * kLine;
  }
  if (settings.slots > 0) out.send_slots = settings.slots;
  out.phases_in_flight = settings.phases_in_flight;
  out.packing = settings.packing;
  return out;
}

}  // namespace

Result<PathGroups> PathGroups::connect(const Topology& topology, const Placement& placement,
                                       const GroupSettings& settings, std::size_t paths) {
  const auto identity = comm::identity_from_environment();
  if (!identity) return fail(identity.error());
  PathGroups out;
  out.self_ = RankId(identity->rank);
  comm::UcxWiringOptions wires;
  if (settings.socket_buffer) wires.send_buffer_bytes = *settings.socket_buffer;
  for (std::size_t path = 0; path < paths; ++path) {
    wires.generation = static_cast<std::uint32_t>(path);
    auto group = make_group(topology, placement, options_of(settings, out.self_), wires);
    if (!group) return fail(std::move(group).error());
    out.groups_.push_back(*std::move(group));
  }
  return out;
}

std::vector<ReplaySampler> PathGroups::samplers(const ReplaySampler::Setup& common) {
  std::vector<ReplaySampler> out;
  for (Communicator& group : groups_) {
    ReplaySampler::Setup setup = common;
    setup.self = self_;
    setup.group = &group;
    setup.common_start = [this] { return common_start(); };
    setup.all_done = [this] { return all_done(); };
    out.emplace_back(std::move(setup));
  }
  return out;
}

Result<std::vector<std::vector<RankSample>>> PathGroups::gather_samples(
    std::span<const RankSample> mine) {
  const auto gathered = all_gather(to_bytes(mine));
  if (!gathered) return fail(gathered.error());
  std::vector<std::vector<RankSample>> by_rank;
  if (self_.value != 0) return by_rank;
  for (const auto& bytes : *gathered) {
    auto samples = samples_from(bytes);
    if (!samples) return fail(std::move(samples).error());
    by_rank.push_back(*std::move(samples));
  }
  return by_rank;
}

Result<Clock::time_point> PathGroups::common_start() {
  return cli::common_start([this](std::span<const std::byte> mine) { return all_gather(mine); });
}

Status PathGroups::all_done() {
  const auto here = all_here([this](std::span<const std::byte> mine) { return all_gather(mine); });
  if (!here) return fail(here.error());
  return {};
}

Status sample_round(std::span<ReplaySampler> samplers, std::span<const Path> paths,
                    const SampleRound& round, const std::function<Status(RankSample)>& keep) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::size_t turn = (i + static_cast<std::size_t>(round.number)) % paths.size();
    auto taken = samplers[turn].sample(round.layer, *round.prepared, paths[turn]);
    if (!taken) return fail(std::move(taken).error());
    RAILWAVE_TRY(keep(*std::move(taken)));
  }
  return {};
}

}  // namespace railwave::cli
