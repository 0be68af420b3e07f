// Combine, step by step.
#include <utility>

#include "base/fail.hpp"
#include "comm/group.hpp"
#include "exec/combine.hpp"
#include "exec/record.hpp"
#include "stopwatch.hpp"

namespace railwave::comm {

using exec::Operation;
using exec::RowShape;
using exec::StepHeader;

exec::NodeRows::Setup Group::expert_rows(const CombineArguments& arguments) {
  const exec::HandleState& handle = *arguments.handle.state_;
  const bool expert_major = handle.layout == RowLayout::ExpertMajor;
  exec::NodeRows::Setup setup;
  setup.engine = engine_.get();
  setup.maps = maps_;
  setup.step = step_;
  setup.shape = RowShape::of(arguments.dtype, arguments.hidden);
  setup.rows = static_cast<std::int64_t>(handle.taken_from.size());
  setup.extent = arguments.rows;
  setup.own = static_cast<const std::byte*>(arguments.x);
  setup.places = handle.expert_rows.places;
  if (arguments.apply_weights || arguments.return_weights) {
    setup.weights = arguments.topk_weights.data();
    setup.weights_per_row = expert_major ? 1 : handle.top_k;
  }
  return setup;
}

Result<PhaseReport> Group::run_combine(const CombineArguments& arguments, Deadline deadline) {
  Stopwatch watch;
  const Status own = check(arguments);
  StepHeader rejected;
  rejected.operation = Operation::Combine;
  const auto headers = exchange(own ? header_of(arguments) : rejected, own, deadline);
  if (!headers) return fail(headers.error());
  PhaseReport report;
  report.header_s = watch.lap();

  const exec::HandleState& handle = *arguments.handle.state_;
  const exec::NodeRows::Setup setup = expert_rows(arguments);
  exec::NodeRows rows(setup);
  exec::CombineContext context;
  context.engine = engine_.get();
  context.handle = &handle;
  context.counts = &handle.counts;
  context.rows = &rows;
  context.shape =
      exec::ChunkShape::of(arguments.return_weights ? exec::weights_meta_bytes(handle.top_k) : 0,
                           setup.shape.bytes(), limits_.chunk_bytes);
  context.dtype = arguments.dtype;
  context.hidden = arguments.hidden;
  context.apply_weights = arguments.apply_weights;
  context.return_weights = arguments.return_weights;
  exec::publish_rows(context);
  report.pack_s = watch.lap();
  exec::Phase phase(phase_setup(Operation::Combine, *handle.plan, rows, context.shape));
  exec::CombineSource source(context);
  exec::CombineReader reader(
      context, phase,
      {arguments.out.data(), static_cast<const std::byte*>(arguments.bias0),
       static_cast<const std::byte*>(arguments.bias1), arguments.out_topk_weights.data()});
  report.plan_s = watch.lap();
  Status moved = phase.run(
      source, [&] { return reader.read(); }, deadline);
  if (!moved) return fail(midway(std::move(moved).error()));

  report.wire_s = watch.lap();
  phase.report(report);
  source.report(report);
  report.reorder_s = reader.seconds();
  report.total_s = watch.total();
  return report;
}

}  // namespace railwave::comm
