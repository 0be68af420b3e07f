#include "dispatch_step.hpp"

#include <utility>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "comm/group.hpp"
#include "exec/record.hpp"
#include "exec/remember_rows.hpp"
#include "model/rail_counts.hpp"
#include "model/routing.hpp"
#include "plan/dispatch_plan.hpp"
#include "reuse.hpp"

namespace railwave::comm {

using exec::Operation;
using exec::RowShape;
using exec::StepHeader;

DispatchStep::DispatchStep(Group& group, const DispatchArguments& arguments, Status own)
    : StepOf(group, own, Operation::Dispatch), arguments_(arguments), places_(memory()) {
  if (own) group.describe(arguments, header());
  if (arguments.reuse != nullptr) received_ = blank_result(*arguments.reuse);
}

void DispatchStep::begun() {
  const Stopwatch packing;
  const exec::SegmentMap& map = group().own_map();
  exec::RankEngine& engine = *group().engine_;
  if (arguments_.handle.valid()) {
    exec::write_metas(engine, map, arguments_.handle.state_->metas, number());
  } else {
    const Routing routing{arguments_.tokens, arguments_.top_k, arguments_.topk_idx};
    exec::write_metas(engine, map, group().placement_,
                      {routing, arguments_.topk_weights, arguments_.layout, memory()}, number());
  }
  pack_s_ = packing.total();
}

Result<std::shared_ptr<exec::HandleState>> DispatchStep::plan(
    const std::vector<StepHeader>& headers) {
  const Topology& topology = group().topology_;
  const auto& kept = group().memory_;
  auto handle = make_kept<exec::HandleState>(kept, kept.get());
  Memory* lasting = &handle->memory;
  handle->group = group().identity_;
  handle->step = number();
  handle->layout = arguments_.layout;
  handle->top_k = arguments_.top_k;
  handle->expert_alignment = arguments_.expert_alignment;
  handle->tokens = arguments_.tokens;
  handle->counts = exec::StepCounts::of(headers, topology.nodes(), lasting);
  auto plan = plan::DispatchPlan::create(
      group().shared_topology_, RailCounts::from_ranks(topology, handle->counts.records, lasting),
      {arguments_.path, arguments_.windows, lasting, memory()});
  if (!plan) return fail(std::move(plan).error());
  handle->plan.emplace(*std::move(plan));
  return handle;
}

exec::NodeRows::Setup DispatchStep::own_rows() {
  exec::NodeRows::Setup setup;
  setup.engine = group().engine_.get();
  setup.maps = group().maps_;
  setup.step = number();
  setup.shape = RowShape::of(arguments_.dtype, arguments_.hidden);
  setup.rows = setup.extent = arguments_.tokens;
  setup.own = static_cast<const std::byte*>(arguments_.x);
  setup.scales = reinterpret_cast<const std::byte*>(arguments_.scales.data());
  setup.memory = memory();
  return setup;
}

void DispatchStep::fill_context() {
  context_.engine = group().engine_.get();
  context_.placement = &group().placement_;
  context_.plan = &*handle_->plan;
  context_.counts = &handle_->counts;
  context_.row_shape = RowShape::of(arguments_.dtype, arguments_.hidden);
  context_.shape = exec::ChunkShape::of(exec::record_meta_bytes(handle_->top_k),
                                        context_.row_shape.bytes(), group().limits_.chunk_bytes);
  context_.layout = handle_->layout;
  context_.top_k = handle_->top_k;
  context_.memory = memory();
}

Status DispatchStep::agreed(const std::vector<StepHeader>& headers) {
  received_.report.header_s = watch().lap() - pack_s_;
  if (!arguments_.handle.valid()) {
    auto planned = plan(headers);
    if (!planned) return fail(std::move(planned).error());
    fresh_ = *std::move(planned);
  }
  handle_ = fresh_ ? fresh_ : arguments_.handle.state_;
  received_.report.plan_s = watch().lap();

  context_.rows = &make_rows(own_rows());
  fill_context();
  places_ = exec::own_places(context_);
  exec::publish_tokens(context_, places_);
  pack_s_ += watch().lap();

  exec::Phase& phase = make_phase(*context_.plan, context_.shape);
  source_.emplace(context_);
  reader_.emplace(exec::DispatchReader::Setup{&context_, &phase, handle_.get(), fresh_.get(),
                                              [this](std::int64_t n) { return make_room(n); }});
  phase.open(*source_);
  return {};
}

exec::ReceiveBuffers DispatchStep::make_room(std::int64_t count) {
  received_.rows = count;
  const RowShape& shape = context_.row_shape;
  const auto rows = static_cast<std::size_t>(count);
  received_.x = arguments_.recv_x.data();
  if (arguments_.recv_x.empty()) {
    received_.storage.resize(rows * static_cast<std::size_t>(shape.element_bytes));
    received_.x = received_.storage.data();
  }
  if (shape.scale_bytes > 0) {
    received_.scales = arguments_.recv_scales.data();
    if (arguments_.recv_scales.empty()) {
      received_.scale_storage.resize(rows * static_cast<std::size_t>(shape.scale_bytes) / 4);
      received_.scales = received_.scale_storage.data();
    }
  }
  const bool expert_major = handle_->layout == RowLayout::ExpertMajor;
  const auto slots = rows * static_cast<std::size_t>(handle_->top_k);
  received_.topk_idx.resize(expert_major ? 0 : slots);
  received_.topk_weights.resize(expert_major ? rows : slots);
  return {received_.x, reinterpret_cast<std::byte*>(received_.scales), received_.topk_idx.data(),
          received_.topk_weights.data()};
}

Result<bool> DispatchStep::move() {
  const Result<bool> over = phase().advance([this] { return reader_->read(); });
  if (over && *over) finish();
  return over;
}

/// What the handle knows of the experts' rows.
void DispatchStep::count_experts() {
  const auto& counts = handle_->tokens_per_expert;
  received_.unaligned_tokens_per_expert.assign(counts.begin(), counts.end());
  const auto& offsets = handle_->expert_rows.offsets;
  received_.expert_offsets.assign(offsets.begin(), offsets.end());
  received_.tokens_per_expert.reserve(counts.size());
  for (const std::int64_t count : counts) {
    received_.tokens_per_expert.push_back(round_up(count, handle_->expert_alignment));
  }
}

void DispatchStep::finish() {
  PhaseReport& report = received_.report;
  report.wire_s = watch().lap();
  if (fresh_) exec::remember_rows(context_, phase(), places_, *fresh_);
  count_experts();
  received_.handle.state_ = handle_;
  phase().report(report);
  source_->report(report);
  report.pack_s += pack_s_;
  report.reorder_s = reader_->seconds() + watch().lap();
  report.total_s = watch().total();
  let_go();
  set(std::move(received_));
}

}  // namespace railwave::comm
