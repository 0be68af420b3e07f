#include "exec/combine.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include "base/event_loop.hpp"
#include "exec/seconds.hpp"

namespace railwave::exec {

void publish_rows(const CombineContext& context) {
  const auto& readers = context.handle->taken_from;
  for (std::size_t row = 0; row < readers.size(); ++row) {
    context.rows->copy_for(readers[row], static_cast<std::int64_t>(row));
  }
  context.rows->publish();
}

void NodeSum::take(const RowRefs& rows, std::size_t index) {
  const std::span refs(rows.refs.data() + rows.first[index],
                       rows.first[index + 1] - rows.first[index]);
  sum_.reset();
  rows_.clear();
  for (const RowRef& ref : refs) {
    rows_.push_back(context_.rows->row(ref.local, ref.row).elements);
  }
  if (context_.return_weights || context_.apply_weights) take_weights(refs);
  if (context_.apply_weights) {
    sum_.add_scaled(rows_, row_weights_);
  } else {
    sum_.add(rows_);
  }
}

void NodeSum::take_weights(std::span<const RowRef> refs) {
  weights_.reset();
  row_weights_.clear();
  for (const RowRef& ref : refs) {
    const float* weights = context_.rows->weights(ref.local, ref.row);
    row_weights_.push_back(*weights);
    if (context_.handle->layout == RowLayout::ExpertMajor) {
      weights_.add(ref.slot, *weights);
    } else {
      weights_.add_all(reinterpret_cast<const std::byte*>(weights));
    }
  }
}

namespace {

/// Are the rows of records or tokens first .. end - 1 here?
bool all_here(const CombineContext& context, const RowRefs& rows, std::size_t first,
              std::size_t end) {
  return std::all_of(rows.refs.begin() + static_cast<std::ptrdiff_t>(rows.first[first]),
                     rows.refs.begin() + static_cast<std::ptrdiff_t>(rows.first[end]),
                     [&](const RowRef& ref) { return context.rows->here(ref.local); });
}

}  // namespace

CombineSource::CombineSource(const CombineContext& context)
    : context_(context), partial_(context_), owners_(context.memory) {}

const RowRefs& CombineSource::rows_of(const Stream& stream) const {
  const auto& forwarded = context_.handle->forwarded;
  const StreamKey& key = stream;
  // They were kept in the order of one receiver's streams: by key.
  const auto at =
      std::lower_bound(forwarded.begin(), forwarded.end(), key,
                       [](const ForwardedStream& f, const StreamKey& k) { return f.key < k; });
  RAILWAVE_CHECK(at != forwarded.end() && at->key == key, "pair %d to %d", stream.pair.source.value,
                 stream.pair.destination.value);
  return at->records;
}

bool CombineSource::ready(const Stream& stream, std::int64_t first, std::int64_t count) {
  return all_here(context_, rows_of(stream), static_cast<std::size_t>(first),
                  static_cast<std::size_t>(first + count));
}

Status CombineSource::pack(const Stream& stream, std::int64_t first, std::int64_t count,
                           std::byte* out) {
  const auto begin = Clock::now();
  const RowRefs& rows = rows_of(stream);
  std::byte* row = out + count * context_.shape.meta_bytes;
  for (std::int64_t i = first; i < first + count; ++i, row += context_.shape.row_bytes) {
    partial_.take(rows, static_cast<std::size_t>(i));
    partial_.sum().store(row);
    if (context_.return_weights) {
      partial_.weights().store(out + (i - first) * context_.shape.meta_bytes);
    }
  }
  seconds_ += seconds_since(begin);
  return context_.rows->check_lent();
}

std::span<const RecordOwner> CombineSource::owners_of(const Stream& stream) {
  auto [at, fresh] = owners_.try_emplace(&stream);
  if (fresh)
    at->second = record_owners(*context_.handle->plan, *context_.counts, stream, context_.memory);
  return at->second;
}

Status CombineSource::readers(const Stream& stream, std::int64_t first, std::int64_t count,
                              const std::byte*, std::span<std::uint8_t> locals) {
  const std::span<const RecordOwner> owners = owners_of(stream);
  for (std::int64_t i = first; i < first + count; ++i) {
    locals[static_cast<std::size_t>(owners[static_cast<std::size_t>(i)].local)] = 1;
  }
  return {};
}

CombineReader::CombineReader(const CombineContext& context, const Phase& phase,
                             const CombineOutput& out)
    : context_(context),
      phase_(phase),
      out_(out),
      parts_(context.memory),
      there_(phase.streams().inbound.size(), 0, context.memory),
      waiting_(context.memory),
      sum_(context.dtype, context.hidden, context.memory),
      weights_(context.handle->top_k, context.memory),
      own_(context_) {
  find_parts();
  waiting_.resize(static_cast<std::size_t>(context.handle->tokens));
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
}

void CombineReader::find_parts() {
  std::pmr::map<StreamKey, std::size_t> index(context_.memory);
  const auto& inbound = phase_.streams().inbound;
  for (std::size_t i = 0; i < inbound.size(); ++i) index[inbound[i]] = i;
  const NodeId self = context_.engine->node();
  parts_.reserve(context_.handle->partials.size());
  for (const auto& [node, place] : context_.handle->partials) {
    const StreamKey key{{self, node}, place.rail, place.lane, place.part};
    parts_.push_back({index.at(key), place.position, node});
  }
}

bool CombineReader::read() {
  if (waiting_.empty()) return true;
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < there_.size(); ++i) {
    there_[i] = phase_.arrived_records(phase_.streams().inbound[i]);
  }
  std::erase_if(waiting_, [&](std::size_t token) {
    if (!ready(token)) return false;
    reduce(token);
    return true;
  });
  seconds_ += seconds_since(begin);
  return waiting_.empty();
}

bool CombineReader::ready(std::size_t token) const {
  const HandleState& handle = *context_.handle;
  for (std::size_t p = handle.first_partial[token]; p < handle.first_partial[token + 1]; ++p) {
    if (parts_[p].position >= there_[parts_[p].stream]) return false;
  }
  return all_here(context_, handle.own_node, token, token + 1);
}

void CombineReader::add_own_node(std::size_t token) {
  const RowRefs& rows = context_.handle->own_node;
  if (rows.first[token] == rows.first[token + 1]) return;
  own_.take(rows, token);
  sum_.add_rounded(own_.sum());
  if (context_.return_weights) weights_.add_all(own_.weights());
}

void CombineReader::add_part(const Part& part) {
  const Stream& stream = phase_.streams().inbound[part.stream];
  const std::byte* stage = phase_.stage_of(stream);
  sum_.add(stage + context_.shape.row_offset(part.position, stream.records));
  if (context_.return_weights) {
    weights_.add_all(stage + context_.shape.meta_offset(part.position));
  }
}

bool CombineReader::is_of_own_node_alone(std::size_t token) const {
  const HandleState& handle = *context_.handle;
  return out_.bias0 == nullptr && out_.bias1 == nullptr &&
         handle.first_partial[token] == handle.first_partial[token + 1];
}

/// The node's partial is the sum; rounding it a second time changes nothing.
void CombineReader::reduce_own_node(std::size_t token, std::byte* out) {
  own_.take(context_.handle->own_node, token);
  own_.sum().store_alone(out);
  if (!context_.return_weights) return;
  weights_.reset();
  weights_.add_all(own_.weights());
  store_weights(token);
}

void CombineReader::store_weights(std::size_t token) {
  weights_.store(reinterpret_cast<std::byte*>(out_.weights + static_cast<std::int64_t>(token) *
                                                                 context_.handle->top_k));
}

void CombineReader::reduce(std::size_t token) {
  const std::int64_t at = static_cast<std::int64_t>(token) * context_.shape.row_bytes;
  const HandleState& handle = *context_.handle;
  const NodeId self = context_.engine->node();
  if (is_of_own_node_alone(token)) return reduce_own_node(token, out_.out + at);
  sum_.reset();
  weights_.reset();
  // A bias alone starts the sum, whichever of the two it is.
  const std::byte* first = out_.bias0 != nullptr ? out_.bias0 : out_.bias1;
  if (first != nullptr) sum_.start(first + at);
  if (out_.bias0 != nullptr && out_.bias1 != nullptr) sum_.add(out_.bias1 + at);
  bool own_added = false;
  for (std::size_t p = handle.first_partial[token]; p < handle.first_partial[token + 1]; ++p) {
    const Part& part = parts_[p];
    if (!own_added && part.node > self) {
      add_own_node(token);
      own_added = true;
    }
    add_part(part);
  }
  if (!own_added) add_own_node(token);
  sum_.store(out_.out + at);
  if (context_.return_weights) store_weights(token);
}

}  // namespace railwave::exec
