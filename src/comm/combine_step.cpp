#include "combine_step.hpp"

#include <utility>

#include "base/fail.hpp"
#include "comm/group.hpp"
#include "exec/record.hpp"
#include "exec/row_shape.hpp"
#include "reuse.hpp"

namespace railwave::comm {

using exec::Operation;
using exec::RowShape;
using exec::StepHeader;

CombineStep::CombineStep(Group& group, const CombineArguments& arguments, Status own)
    : StepOf(group, own, Operation::Combine), arguments_(arguments) {
  if (own) Group::describe(arguments, header());
  if (arguments.reuse != nullptr) report_ = blank_report(*arguments.reuse);
}

exec::NodeRows::Setup CombineStep::expert_rows() {
  const exec::HandleState& handle = *arguments_.handle.state_;
  const bool expert_major = handle.layout == RowLayout::ExpertMajor;
  exec::NodeRows::Setup setup;
  setup.engine = group().engine_.get();
  setup.maps = group().maps_;
  setup.step = number();
  setup.shape = RowShape::of(arguments_.dtype, arguments_.hidden);
  setup.rows = static_cast<std::int64_t>(handle.taken_from.size());
  setup.extent = arguments_.rows;
  setup.own = static_cast<const std::byte*>(arguments_.x);
  setup.places = handle.expert_rows.places;
  setup.memory = memory();
  if (arguments_.apply_weights || arguments_.return_weights) {
    setup.weights = arguments_.topk_weights.data();
    setup.weights_per_row = expert_major ? 1 : handle.top_k;
  }
  return setup;
}

void CombineStep::fill_context() {
  const exec::HandleState& handle = *arguments_.handle.state_;
  context_.engine = group().engine_.get();
  context_.handle = &handle;
  context_.counts = &handle.counts;
  context_.shape = exec::ChunkShape::of(
      arguments_.return_weights ? exec::weights_meta_bytes(handle.top_k) : 0,
      RowShape::of(arguments_.dtype, arguments_.hidden).bytes(), group().limits_.chunk_bytes);
  context_.dtype = arguments_.dtype;
  context_.hidden = arguments_.hidden;
  context_.apply_weights = arguments_.apply_weights;
  context_.return_weights = arguments_.return_weights;
  context_.memory = memory();
}

Status CombineStep::agreed(const std::vector<StepHeader>&) {
  report_.header_s = watch().lap();
  context_.rows = &make_rows(expert_rows());
  fill_context();
  exec::publish_rows(context_);
  report_.pack_s = watch().lap();
  exec::Phase& phase = make_phase(*context_.handle->plan, context_.shape);
  source_.emplace(context_);
  reader_.emplace(
      context_, phase,
      exec::CombineOutput{arguments_.out.data(), static_cast<const std::byte*>(arguments_.bias0),
                          static_cast<const std::byte*>(arguments_.bias1),
                          arguments_.out_topk_weights.data()});
  report_.plan_s = watch().lap();
  phase.open(*source_);
  return {};
}

Result<bool> CombineStep::move() {
  const Result<bool> over = phase().advance([this] { return reader_->read(); });
  if (over && *over) finish();
  return over;
}

void CombineStep::finish() {
  report_.wire_s = watch().lap();
  phase().report(report_);
  source_->report(report_);
  report_.reorder_s = reader_->seconds();
  report_.total_s = watch().total();
  let_go();
  set(std::move(report_));
}

}  // namespace railwave::comm
