// Dispatch and combine, step by step.
#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "comm/group.hpp"
#include "exec/combine.hpp"
#include "exec/dispatch.hpp"
#include "exec/record.hpp"
#include "model/rail_counts.hpp"
#include "model/routing.hpp"
#include "plan/dispatch_plan.hpp"

namespace railwave::comm {

using exec::Operation;
using exec::StepHeader;

namespace {

class Stopwatch {
 public:
  /// Seconds since the last lap.
  double lap() {
    const auto now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }
  [[nodiscard]] double total() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

 private:
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

std::uint64_t hash_of(const Windows& windows) {
  if (windows.empty()) return 0;
  std::vector<std::int32_t> flat;
  for (const Window& window : windows) {
    flat.push_back(-1);
    for (const NodePair pair : window) {
      flat.push_back(pair.source.value);
      flat.push_back(pair.destination.value);
    }
  }
  return XXH3_64bits(flat.data(), flat.size() * sizeof(flat[0]));
}

Routing routing_of(const DispatchArguments& arguments) {
  return {arguments.tokens, arguments.top_k, arguments.topk_idx};
}

Error capacity_error(RankId rank, const char* field, std::int64_t need, std::int64_t have) {
  Error error{ErrorCode::CapacityExceeded, rank.value, field,
              fmt::format("{} tokens are more than the group was made for ({})", need, have)};
  error.need = need;
  error.have = have;
  return error;
}

/// What dispatch and combine check alike.
Status check_rows(const CommunicatorOptions& options, const exec::Limits& limits,
                  std::int64_t hidden, DType dtype) {
  if (dtype != DType::BF16 && dtype != DType::FP32) {
    return fail(ErrorCode::Unsupported, options.self, "dtype",
                fmt::format("{} rows can not be moved yet; use bf16 or fp32", to_string(dtype)));
  }
  if (hidden < 1 || hidden > limits.max_row_bytes / element_bytes(dtype)) {
    return fail(ErrorCode::InvalidArgument, options.self, "hidden",
                fmt::format("a row of {} {} elements does not fit the group's rows of {} bytes",
                            hidden, to_string(dtype), limits.max_row_bytes));
  }
  return {};
}

/// Rows are read from the caller's buffer while others are written to the output.
Status check_apart(RankId self, const void* in, std::int64_t in_bytes,
                   std::span<const std::byte> out, const char* field) {
  const auto begin = reinterpret_cast<std::uintptr_t>(in);
  const auto end = begin + static_cast<std::uintptr_t>(in_bytes);
  const auto out_begin = reinterpret_cast<std::uintptr_t>(out.data());
  if (in_bytes == 0 || out.empty() || out_begin >= end || out_begin + out.size() <= begin)
    return {};
  return fail(ErrorCode::InvalidArgument, self, field,
              fmt::format("{} overlaps x; give a buffer of its own", field));
}

}  // namespace

Status Group::check(const DispatchArguments& arguments) const {
  const RankId self = options_.self;
  RAILWAVE_TRY(check_rows(options_, limits_, arguments.hidden, arguments.dtype));
  if (arguments.tokens > limits_.max_tokens) {
    return fail(capacity_error(self, "tokens", arguments.tokens, limits_.max_tokens));
  }
  if (arguments.top_k > limits_.max_top_k) {
    return fail(
        ErrorCode::InvalidArgument, self, "top_k",
        fmt::format("top_k {} is more than max_top_k {}", arguments.top_k, limits_.max_top_k));
  }
  RAILWAVE_TRY(routing_of(arguments).check(placement_, self));
  if (!arguments.topk_weights.empty() &&
      arguments.topk_weights.size() != arguments.topk_idx.size()) {
    return fail(ErrorCode::InvalidArgument, self, "topk_weights",
                fmt::format("{} weights for {} expert ids", arguments.topk_weights.size(),
                            arguments.topk_idx.size()));
  }
  if (arguments.x == nullptr && arguments.tokens > 0) {
    return fail(ErrorCode::InvalidArgument, self, "x", "x is null, but there are tokens");
  }
  RAILWAVE_TRY(check_apart(self, arguments.x,
                           arguments.tokens * arguments.hidden * element_bytes(arguments.dtype),
                           arguments.recv_x, "recv_x"));
  if (arguments.expert_alignment < 1) {
    return fail(ErrorCode::InvalidArgument, self, "expert_alignment",
                fmt::format("{} is less than 1", arguments.expert_alignment));
  }
  return {};
}

Status Group::check(const CombineArguments& arguments) const {
  const RankId self = options_.self;
  if (!arguments.handle.valid() || arguments.handle.state_->group.lock() != identity_) {
    return fail(ErrorCode::StaleHandle, self, "handle",
                "the handle is empty or was made by another group");
  }
  RAILWAVE_TRY(check_rows(options_, limits_, arguments.hidden, arguments.dtype));
  const exec::HandleState& handle = *arguments.handle.state_;
  if (arguments.rows != handle.rows) {
    return fail(ErrorCode::InvalidArgument, self, "rows",
                fmt::format("rows {}, expected {}: one for each row that the dispatch received",
                            arguments.rows, handle.rows));
  }
  const std::int64_t out_bytes = handle.tokens * arguments.hidden * element_bytes(arguments.dtype);
  if (static_cast<std::int64_t>(arguments.out.size()) < out_bytes) {
    return fail(ErrorCode::InvalidArgument, self, "out",
                fmt::format("{} bytes for {} tokens, {} are needed", arguments.out.size(),
                            handle.tokens, out_bytes));
  }
  if (arguments.x == nullptr && arguments.rows > 0) {
    return fail(ErrorCode::InvalidArgument, self, "x", "x is null, but there are rows");
  }
  return check_apart(self, arguments.x,
                     arguments.rows * arguments.hidden * element_bytes(arguments.dtype),
                     arguments.out.first(static_cast<std::size_t>(out_bytes)), "out");
}

StepHeader Group::header_of(const DispatchArguments& arguments) const {
  const Layout layout = Layout::of(routing_of(arguments), placement_, topology_);
  StepHeader header;
  header.operation = Operation::Dispatch;
  header.path = arguments.path;
  header.dtype = arguments.dtype;
  header.top_k = static_cast<std::uint32_t>(arguments.top_k);
  header.hidden = static_cast<std::uint32_t>(arguments.hidden);
  header.windows_hash = hash_of(arguments.windows);
  header.tokens = static_cast<std::uint32_t>(arguments.tokens);
  std::int64_t capacity = limits_.max_recv_rows;
  if (arguments.recv_x.data() != nullptr) {
    capacity = std::min(capacity, static_cast<std::int64_t>(arguments.recv_x.size()) /
                                      (arguments.hidden * element_bytes(arguments.dtype)));
  }
  header.capacity = static_cast<std::uint32_t>(capacity);
  for (const std::int64_t n : layout.tokens_per_node) {
    header.records.push_back(static_cast<std::uint32_t>(n));
  }
  for (const std::int64_t n : layout.tokens_per_rank) {
    header.copies.push_back(static_cast<std::uint32_t>(n));
  }
  return header;
}

namespace {

void make_room(const DispatchArguments& arguments, Received& received) {
  const std::int64_t row_bytes = arguments.hidden * element_bytes(arguments.dtype);
  received.x = arguments.recv_x.data();
  if (received.x == nullptr) {
    received.storage.resize(static_cast<std::size_t>(received.rows * row_bytes));
    received.x = received.storage.data();
  }
  received.topk_idx.resize(static_cast<std::size_t>(received.rows * arguments.top_k));
  received.topk_weights.resize(static_cast<std::size_t>(received.rows * arguments.top_k));
}

}  // namespace

exec::NodeRows Group::node_rows(const void* own, std::int64_t rows, std::int64_t row_bytes) {
  return exec::NodeRows(
      {engine_.get(), maps_, step_, static_cast<const std::byte*>(own), rows, row_bytes});
}

Result<std::shared_ptr<exec::HandleState>> Group::plan_dispatch(
    const DispatchArguments& arguments, const std::vector<StepHeader>& headers) {
  auto handle = std::make_shared<exec::HandleState>();
  handle->group = identity_;
  handle->step = step_;
  handle->tokens = arguments.tokens;
  handle->counts = exec::StepCounts::of(headers, topology_.nodes());
  handle->rows = handle->counts.rows[options_.self.index()];
  handle->taken_from.resize(static_cast<std::size_t>(handle->rows));
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

Result<Received> Group::run_dispatch(const DispatchArguments& arguments, Deadline deadline) {
  Stopwatch watch;
  const Status own = check(arguments);
  const std::int64_t row_bytes = own ? arguments.hidden * element_bytes(arguments.dtype) : 0;
  double pack_s = 0;
  const auto headers = exchange(own ? header_of(arguments) : StepHeader{}, own, deadline, [&] {
    const Stopwatch packing;
    exec::write_metas(*engine_, own_map(), placement_,
                      {routing_of(arguments), arguments.topk_weights}, step_);
    pack_s = packing.total();
  });
  if (!headers) return fail(headers.error());
  const double header_s = watch.lap() - pack_s;
  auto handle = plan_dispatch(arguments, *headers);
  if (!handle) return fail(std::move(handle).error());
  const double plan_s = watch.lap();

  exec::NodeRows rows = node_rows(arguments.x, arguments.tokens, row_bytes);
  exec::DispatchContext context;
  context.engine = engine_.get();
  context.placement = &placement_;
  context.plan = (*handle)->plan.get();
  context.counts = &(*handle)->counts;
  context.rows = &rows;
  context.shape = exec::ChunkShape::of(exec::record_meta_bytes(arguments.top_k), row_bytes,
                                       limits_.chunk_bytes);
  context.top_k = arguments.top_k;
  const exec::OwnPlaces places = exec::own_places(context);
  exec::publish_tokens(context, places);
  pack_s += watch.lap();

  Received received;
  received.rows = (*handle)->rows;
  received.tokens_per_expert.resize(placement_.owned(options_.self).size());
  exec::Phase phase(phase_setup(Operation::Dispatch, *context.plan, rows, context.shape));
  exec::DispatchSource source(context);
  exec::DispatchReader reader(context, phase, [&] {
    make_room(arguments, received);
    return exec::ReceiveBuffers{received.x, received.topk_idx.data(), received.topk_weights.data(),
                                received.tokens_per_expert.data(), (*handle)->taken_from.data()};
  });
  Status moved = phase.run(
      source, [&] { return reader.read(); }, deadline);
  if (!moved) return fail(midway(std::move(moved).error()));
  const double wire_s = watch.lap();

  if (received.rows == 0) make_room(arguments, received);
  exec::remember_rows(context, phase, places, **handle);
  received.handle.state_ = *std::move(handle);
  for (std::int64_t& count : received.tokens_per_expert) {
    count = round_up(count, arguments.expert_alignment);
  }
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

StepHeader Group::header_of(const CombineArguments& arguments) {
  const exec::HandleState& state = *arguments.handle.state_;
  StepHeader header;
  header.operation = Operation::Combine;
  header.path = state.plan->path();
  header.dtype = arguments.dtype;
  header.hidden = static_cast<std::uint32_t>(arguments.hidden);
  header.handle_step = state.step;
  header.tokens = static_cast<std::uint32_t>(state.tokens);
  return header;
}

Result<PhaseReport> Group::run_combine(const CombineArguments& arguments, Deadline deadline) {
  Stopwatch watch;
  const Status own = check(arguments);
  const std::int64_t row_bytes = own ? arguments.hidden * element_bytes(arguments.dtype) : 0;
  StepHeader rejected;
  rejected.operation = Operation::Combine;
  const auto headers = exchange(own ? header_of(arguments) : rejected, own, deadline);
  if (!headers) return fail(headers.error());
  PhaseReport report;
  report.header_s = watch.lap();

  const exec::HandleState& handle = *arguments.handle.state_;
  exec::NodeRows rows = node_rows(arguments.x, arguments.rows, row_bytes);
  exec::CombineContext context;
  context.engine = engine_.get();
  context.handle = &handle;
  context.counts = &handle.counts;
  context.rows = &rows;
  context.shape = exec::ChunkShape::of(0, row_bytes, limits_.chunk_bytes);
  context.dtype = arguments.dtype;
  context.hidden = arguments.hidden;
  exec::publish_rows(context);
  report.pack_s = watch.lap();
  exec::Phase phase(phase_setup(Operation::Combine, *handle.plan, rows, context.shape));
  exec::CombineSource source(context);
  exec::CombineReader reader(context, phase,
                             {arguments.out.data(), static_cast<const std::byte*>(arguments.bias0),
                              static_cast<const std::byte*>(arguments.bias1)});
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
