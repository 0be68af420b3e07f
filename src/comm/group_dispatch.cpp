// Dispatch, step by step.
#include <utility>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "comm/group.hpp"
#include "exec/dispatch.hpp"
#include "exec/dispatch_reader.hpp"
#include "exec/record.hpp"
#include "exec/remember_rows.hpp"
#include "model/rail_counts.hpp"
#include "model/routing.hpp"
#include "plan/dispatch_plan.hpp"
#include "stopwatch.hpp"

namespace railwave::comm {

using exec::Operation;
using exec::RowShape;
using exec::StepHeader;

Result<std::shared_ptr<exec::HandleState>> Group::plan_dispatch(
    const DispatchArguments& arguments, const std::vector<StepHeader>& headers) {
  auto handle = std::make_shared<exec::HandleState>();
  handle->group = identity_;
  handle->step = step_;
  handle->layout = arguments.layout;
  handle->top_k = arguments.top_k;
  handle->expert_alignment = arguments.expert_alignment;
  handle->tokens = arguments.tokens;
  handle->counts = exec::StepCounts::of(headers, topology_.nodes());
  auto plan = plan::DispatchPlan::create(topology_,
                                         RailCounts::from_ranks(topology_, handle->counts.records),
                                         {arguments.path, arguments.windows});
  if (!plan) {
    engine_->close_step(step_);
    return fail(std::move(plan).error());
  }
  handle->plan = std::make_shared<const plan::DispatchPlan>(std::move(*plan));
  return handle;
}

void Group::write_metas(const DispatchArguments& arguments) {
  if (arguments.handle.valid()) {
    exec::write_metas(*engine_, own_map(), arguments.handle.state_->metas, step_);
    return;
  }
  const Routing routing{arguments.tokens, arguments.top_k, arguments.topk_idx};
  exec::write_metas(*engine_, own_map(), placement_,
                    {routing, arguments.topk_weights, arguments.layout}, step_);
}

namespace {

exec::ReceiveBuffers make_room(const DispatchArguments& arguments, const exec::HandleState& handle,
                               Received& received) {
  const RowShape shape = RowShape::of(arguments.dtype, arguments.hidden);
  const auto rows = static_cast<std::size_t>(received.rows);
  received.x = arguments.recv_x.data();
  if (arguments.recv_x.empty()) {
    received.storage.resize(rows * static_cast<std::size_t>(shape.element_bytes));
    received.x = received.storage.data();
  }
  if (shape.scale_bytes > 0) {
    received.scales = arguments.recv_scales.data();
    if (arguments.recv_scales.empty()) {
      received.scale_storage.resize(rows * static_cast<std::size_t>(shape.scale_bytes) / 4);
      received.scales = received.scale_storage.data();
    }
  }
  const bool expert_major = handle.layout == RowLayout::ExpertMajor;
  const auto slots = rows * static_cast<std::size_t>(handle.top_k);
  if (!expert_major) received.topk_idx.resize(slots);
  received.topk_weights.resize(expert_major ? rows : slots);
  return {received.x, reinterpret_cast<std::byte*>(received.scales), received.topk_idx.data(),
          received.topk_weights.data()};
}

/// What the handle knows of the experts' rows.
void count_experts(const exec::HandleState& handle, Received& received) {
  received.unaligned_tokens_per_expert = handle.tokens_per_expert;
  received.expert_offsets = handle.expert_rows.offsets;
  for (const std::int64_t count : handle.tokens_per_expert) {
    received.tokens_per_expert.push_back(round_up(count, handle.expert_alignment));
  }
}

}  // namespace

Result<Received> Group::run_dispatch(const DispatchArguments& arguments, Deadline deadline) {
  Stopwatch watch;
  const Status own = check(arguments);
  double pack_s = 0;
  const auto headers = exchange(own ? header_of(arguments) : StepHeader{}, own, deadline, [&] {
    const Stopwatch packing;
    write_metas(arguments);
    pack_s = packing.total();
  });
  if (!headers) return fail(headers.error());
  const double header_s = watch.lap() - pack_s;
  std::shared_ptr<exec::HandleState> fresh;
  if (!arguments.handle.valid()) {
    auto planned = plan_dispatch(arguments, *headers);
    if (!planned) return fail(std::move(planned).error());
    fresh = *std::move(planned);
  }
  const std::shared_ptr<const exec::HandleState> handle = fresh ? fresh : arguments.handle.state_;
  const double plan_s = watch.lap();

  const RowShape row_shape = RowShape::of(arguments.dtype, arguments.hidden);
  exec::NodeRows::Setup setup;
  setup.engine = engine_.get();
  setup.maps = maps_;
  setup.step = step_;
  setup.shape = row_shape;
  setup.rows = setup.extent = arguments.tokens;
  setup.own = static_cast<const std::byte*>(arguments.x);
  setup.scales = reinterpret_cast<const std::byte*>(arguments.scales.data());
  exec::NodeRows rows(setup);
  exec::DispatchContext context;
  context.engine = engine_.get();
  context.placement = &placement_;
  context.plan = handle->plan.get();
  context.counts = &handle->counts;
  context.rows = &rows;
  context.row_shape = row_shape;
  context.shape = exec::ChunkShape::of(exec::record_meta_bytes(handle->top_k), row_shape.bytes(),
                                       limits_.chunk_bytes);
  context.layout = handle->layout;
  context.top_k = handle->top_k;
  const exec::OwnPlaces places = exec::own_places(context);
  exec::publish_tokens(context, places);
  pack_s += watch.lap();

  Received received;
  exec::Phase phase(phase_setup(Operation::Dispatch, *context.plan, rows, context.shape));
  exec::DispatchSource source(context);
  exec::DispatchReader reader({&context, &phase, handle.get(), fresh.get(), [&](std::int64_t n) {
                                 received.rows = n;
                                 return make_room(arguments, *handle, received);
                               }});
  Status moved = phase.run(
      source, [&] { return reader.read(); }, deadline);
  if (!moved) return fail(midway(std::move(moved).error()));
  const double wire_s = watch.lap();

  if (fresh) exec::remember_rows(context, phase, places, *fresh);
  count_experts(*handle, received);
  received.handle.state_ = handle;
  phase.report(received.report);
  source.report(received.report);
  received.report.pack_s += pack_s;
  received.report.header_s = header_s;
  received.report.plan_s = plan_s;
  received.report.wire_s = wire_s;
  received.report.reorder_s = reader.seconds() + watch.lap();
  received.report.total_s = watch.total();
  return received;
}

}  // namespace railwave::comm
