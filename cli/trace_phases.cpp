#include "trace_phases.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/units.hpp"
#include "limits.hpp"
#include "row_bytes.hpp"
#include "workload/generator.hpp"
#include "workload/trace_reader.hpp"
#include "workload/trace_traffic.hpp"

namespace railwave::cli {

Result<workload::Trace> load_trace(const std::string& file, int experts, std::uint64_t seed,
                                   bool with_ids) {
  if (!file.empty()) {
    workload::TraceReadOptions read;
    read.experts = experts;
    return workload::read_trace(file, read);
  }
  workload::GeneratorOptions generator;
  generator.seed = seed;
  if (experts > 0) generator.experts = experts;
  return with_ids ? workload::generate_ids(generator) : workload::generate_counts(generator);
}

std::string trace_name(const std::string& file) {
  return file.empty() ? "generated" : std::filesystem::path(file).filename().string();
}

namespace {

Result<int> ranks_per_node(const Topology& topology) {
  const int ranks = topology.ranks_at(NodeId(0));
  for (int n = 1; n < topology.nodes(); ++n) {
    if (topology.ranks_at(NodeId(n)) == ranks) continue;
    return fail(ErrorCode::InvalidArgument, "--cluster",
                "a schedule needs the same number of ranks on every node; use --routing trace");
  }
  return ranks;
}

/// Rows by (rank, node), records by (node, rail, node), pairs of windows and of eligible rails.
Status counts_fit(const Topology& topology) {
  const std::int64_t nodes = topology.nodes();
  const std::int64_t bytes =
      8 * (topology.ranks() * nodes + nodes * nodes * topology.rails() + 2 * nodes * nodes);
  return fits_memory("--nodes", bytes,
                     fmt::format("a layer's counts on {} nodes with {} ranks and {} rails", nodes,
                                 topology.ranks(), topology.rails()));
}

}  // namespace

Result<TracePhases> TracePhases::open(const ReplayOptions& options, const ReplayRequest& request,
                                      const Topology& topology) {
  const auto row = cli::row_bytes(options.hidden, request.dtype);
  if (!row) return fail(row.error());
  RAILWAVE_TRY(counts_fit(topology));
  auto trace = load_trace(options.trace, options.experts, options.seed, request.by_trace);
  if (!trace) return fail(std::move(trace).error());
  const int experts =
      request.by_trace ? trace->experts() : std::max(trace->experts(), topology.ranks());
  auto placement = Placement::contiguous(experts, topology.ranks());
  if (!placement) return fail(std::move(placement).error());
  TracePhases phases(*std::move(trace), topology, *std::move(placement));
  phases.name_ = cli::trace_name(options.trace);
  phases.layers_ = options.layers > 0 ? std::min(options.layers, phases.trace_.layers())
                                      : phases.trace_.layers();
  phases.by_trace_ = request.by_trace;
  phases.shape_ = {request.schedule, request.order, std::nullopt, *row};
  if (options.payload_mib > 0) phases.shape_.payload_mib = options.payload_mib;
  if (options.max_tokens > 0) phases.max_tokens_ = options.max_tokens;
  if (!request.by_trace) {
    const auto per_node = ranks_per_node(topology);
    if (!per_node) return fail(per_node.error());
    phases.cluster_ = {topology.nodes(), *per_node};
  }
  return phases;
}

Result<workload::ReplayPhase> TracePhases::scheduled(int layer) const {
  auto phase = workload::ReplayPhase::create(cluster_, trace_.expert_counts(layer), shape_);
  if (!phase) return phase;
  if (phase->total_rows() == 0 && shape_.payload_mib) {
    return fail(ErrorCode::InvalidArgument, "--payload-mib",
                fmt::format("{} MiB a rank on {} ranks are less than one row of {}; give more, or "
                            "a smaller --hidden",
                            *shape_.payload_mib, topology_.ranks(), format_size(row_bytes())));
  }
  return phase;
}

Result<PhaseCounts> TracePhases::counts(int layer) const {
  PhaseCounts out;
  if (by_trace_) {
    auto rows = workload::routed_node_rows(trace_, layer, topology_, placement_, max_tokens_);
    if (!rows) return fail(std::move(rows).error());
    out.node_rows = *std::move(rows);
  } else {
    const auto phase = scheduled(layer);
    if (!phase) return fail(phase.error());
    out.windows = phase->windows();
    out.node_rows = phase->node_rows();
  }
  out.counts = RailCounts::from_ranks(topology_, out.node_rows);
  return out;
}

Result<PhaseRouting> TracePhases::routing(int layer) const {
  PhaseRouting out;
  if (!by_trace_) {
    const auto phase = scheduled(layer);
    if (!phase) return fail(phase.error());
    RAILWAVE_TRY(fits_memory("--payload-mib",
                             checked_mul(phase->total_rows(), sizeof(std::int64_t)),
                             fmt::format("the {} rows of a layer", phase->total_rows())));
    out.windows = phase->windows();
    for (RankId p(0); p.value < topology_.ranks(); ++p.value) {
      out.routing.push_back(phase->routing(p));
    }
    return out;
  }
  for (RankId p(0); p.value < topology_.ranks(); ++p.value) {
    auto routing = workload::trace_routing(trace_, layer, topology_.ranks(), p, max_tokens_);
    if (!routing) return fail(routing.error());
    out.routing.push_back(*std::move(routing));
  }
  return out;
}

}  // namespace railwave::cli
