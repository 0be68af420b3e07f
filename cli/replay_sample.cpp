#include "replay_sample.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "replay_expert.hpp"

namespace railwave::cli {
namespace {

double seconds_from(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

ReplaySampler::ReplaySampler(Setup setup)
    : setup_(std::move(setup)),
      row_bytes_(setup_.rows->row_bytes()),
      receive_(static_cast<std::size_t>(setup_.work->max_recv_rows * row_bytes_)) {}

std::vector<ExpertId> ReplaySampler::experts_at(const workload::RankRouting& routing,
                                                std::int64_t token, RankId rank) const {
  std::vector<ExpertId> experts;
  for (int k = 0; k < routing.top_k; ++k) {
    const std::int64_t expert =
        routing.topk_idx[static_cast<std::size_t>(token * routing.top_k + k)];
    if (expert < 0) continue;
    const ExpertId id(static_cast<std::int32_t>(expert));
    if (setup_.work->placement.owner(id) == rank) experts.push_back(id);
  }
  return experts;
}

/// Ranks of a node ascending, rounded, nodes ascending, rounded.
void ReplaySampler::expect(std::size_t layer, PreparedLayer& out) const {
  const workload::RankRouting& routing = setup_.work->layers[layer].routing[setup_.self.index()];
  ExpertSide experts(*setup_.rows, setup_.dtype, setup_.hidden);
  PlainSum partial(setup_.dtype, setup_.hidden);
  PlainSum total(setup_.dtype, setup_.hidden);
  std::vector<std::byte> row(static_cast<std::size_t>(row_bytes_));
  for (std::int64_t t = 0; t < routing.tokens; ++t) {
    total.reset();
    for (int n = 0; n < setup_.topology->nodes(); ++n) {
      bool any = false;
      partial.reset();
      for (int local = 0; local < setup_.topology->ranks_at(NodeId(n)); ++local) {
        const auto here = experts_at(routing, t, setup_.topology->rank_at(NodeId(n), local));
        if (here.empty()) continue;
        any = true;
        experts.fill(here, {setup_.self, t}, row.data());
        partial.add(row.data());
      }
      if (!any) continue;
      partial.store(row.data());
      total.add(row.data());
    }
    total.store(out.expected.data() + t * row_bytes_);
  }
}

PreparedLayer ReplaySampler::prepare(std::size_t layer) const {
  PreparedLayer out;
  const ReplayLayer& work = setup_.work->layers[layer];
  const auto bytes =
      static_cast<std::size_t>(work.routing[setup_.self.index()].tokens * row_bytes_);
  out.x.resize(bytes);
  out.expected.resize(bytes);
  setup_.rows->fill_rows(setup_.self, 0, out.x);
  out.received = setup_.work->received(layer, setup_.self);
  if (setup_.combine) out.back.resize(out.received.size() * static_cast<std::size_t>(row_bytes_));
  if (!setup_.combine || !setup_.check) return out;
  ExpertSide experts(*setup_.rows, setup_.dtype, setup_.hidden);
  for (std::size_t i = 0; i < out.received.size(); ++i) {
    const workload::RowIdentity& row = out.received[i];
    experts.fill(experts_at(work.routing[row.source.index()], row.token, setup_.self), row,
                 out.back.data() + static_cast<std::int64_t>(i) * row_bytes_);
  }
  expect(layer, out);
  return out;
}

Result<const std::byte*> ReplaySampler::place(std::span<const std::byte> rows,
                                              std::int64_t most_rows, SharedBuffer& shared) const {
  if (!setup_.in_place) return rows.data();
  if (shared.data() == nullptr) {
    // For the largest step at once: the two buffers fit, and never come to lie between others.
    auto room = setup_.group->allocate(most_rows * row_bytes_);
    if (!room) return fail(std::move(room).error());
    shared = *std::move(room);
  }
  std::copy(rows.begin(), rows.end(), shared.data());
  return shared.data();
}

Result<Received> ReplaySampler::dispatch(std::size_t layer, const PreparedLayer& prepared,
                                         RankSample& out, Path path) {
  const ReplayLayer& work = setup_.work->layers[layer];
  const workload::RankRouting& routing = work.routing[setup_.self.index()];
  const auto x = place(prepared.x, setup_.work->max_tokens, x_);
  if (!x) return fail(x.error());
  DispatchArguments in;
  in.x = *x;
  in.tokens = routing.tokens;
  in.hidden = setup_.hidden;
  in.dtype = setup_.dtype;
  in.top_k = routing.top_k;
  in.topk_idx = routing.topk_idx;
  in.path = path;
  in.windows = work.windows;
  in.recv_x = receive_;
  const auto start = setup_.common_start();
  if (!start) return fail(start.error());
  auto received = setup_.group->dispatch(in);
  out.dispatch_s = seconds_from(*start);
  // Checking rows would take the processor from ranks that still move theirs.
  if (received) RAILWAVE_TRY(setup_.all_done());
  return received;
}

Status ReplaySampler::combine(const PreparedLayer& prepared, const Received& received,
                              RankSample& out) {
  std::vector<std::byte> combined(prepared.x.size());
  const auto back = place(prepared.back, setup_.work->max_recv_rows, back_);
  if (!back) return fail(back.error());
  CombineArguments in;
  in.handle = received.handle;
  in.x = *back;
  in.rows = received.rows;
  in.hidden = setup_.hidden;
  in.dtype = setup_.dtype;
  in.out = combined;
  const auto start = setup_.common_start();
  if (!start) return fail(start.error());
  auto report = setup_.group->combine(in);
  out.combine_s = seconds_from(*start);
  if (!report) return fail(std::move(report).error());
  RAILWAVE_TRY(setup_.all_done());
  out.combine = *std::move(report);
  if (!setup_.check) return {};
  const auto row = static_cast<std::size_t>(row_bytes_);
  for (std::size_t at = 0; at < combined.size(); at += row) {
    if (std::memcmp(combined.data() + at, prepared.expected.data() + at, row) != 0) ++out.wrong;
  }
  out.bits = workload::hash_rows(combined);
  return {};
}

std::int64_t ReplaySampler::wrong_rows(const PreparedLayer& prepared,
                                       const Received& received) const {
  const auto planned = static_cast<std::int64_t>(prepared.received.size());
  if (received.rows != planned) return planned;
  const std::span<const std::byte> rows(received.x, static_cast<std::size_t>(planned * row_bytes_));
  return setup_.rows->count_wrong_rows(rows, prepared.received);
}

Result<RankSample> ReplaySampler::sample(std::size_t layer, const PreparedLayer& prepared,
                                         Path path) {
  RankSample out;
  out.path = path;
  out.layer = static_cast<int>(layer);
  auto received = dispatch(layer, prepared, out, path);
  if (!received) return fail(std::move(received).error());
  if (setup_.check) out.wrong = wrong_rows(prepared, *received);
  out.dispatch = std::move(received->report);
  if (setup_.combine) RAILWAVE_TRY(combine(prepared, *received, out));
  return out;
}

}  // namespace railwave::cli
