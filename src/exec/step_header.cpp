#include "exec/step_header.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "exec/majority.hpp"

namespace railwave::exec {
namespace {

template <class T>
void put(std::byte*& at, T value) {
  std::memcpy(at, &value, sizeof(T));
  at += sizeof(T);
}

template <class T>
T take(const std::byte*& at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  at += sizeof(T);
  return value;
}

void put_counts(std::byte*& at, std::span<const std::uint32_t> counts, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) put(at, counts.empty() ? 0U : counts[i]);
}

/// One thing on which all ranks must agree.
struct Agreed {
  const char* field;
  std::uint64_t (*value)(const StepHeader&);
};

constexpr std::array<Agreed, 11> kAgreed{
    {{"step", [](const StepHeader& h) { return h.step; }},
     {"operation", [](const StepHeader& h) { return static_cast<std::uint64_t>(h.operation); }},
     {"path", [](const StepHeader& h) { return static_cast<std::uint64_t>(h.path); }},
     {"dtype", [](const StepHeader& h) { return static_cast<std::uint64_t>(h.dtype); }},
     {"top_k", [](const StepHeader& h) -> std::uint64_t { return h.top_k; }},
     {"hidden", [](const StepHeader& h) -> std::uint64_t { return h.hidden; }},
     {"layout", [](const StepHeader& h) -> std::uint64_t { return h.flags & kExpertMajor; }},
     {"return_weights",
      [](const StepHeader& h) -> std::uint64_t { return h.flags & kReturnWeights; }},
     {"apply_weights",
      [](const StepHeader& h) -> std::uint64_t { return h.flags & kApplyWeights; }},
     {"handle", [](const StepHeader& h) { return h.handle_step; }},
     {"windows", [](const StepHeader& h) { return h.windows_hash; }}}};

}  // namespace

void encode(const StepHeader& header, int nodes, std::span<std::byte> out) {
  std::byte* at = out.data();
  put(at, header.rejected);
  put(at, header.operation);
  put(at, header.path);
  put(at, header.dtype);
  put(at, header.top_k);
  put(at, header.hidden);
  put(at, header.flags);
  put(at, header.step);
  put(at, header.handle_step);
  put(at, header.windows_hash);
  put(at, header.tokens);
  put(at, header.capacity);
  const auto n = static_cast<std::size_t>(nodes);
  put_counts(at, header.records, n);
  put_counts(at, header.copies, (out.size() - 48) / 4 - n);
}

void decode(std::span<const std::byte> bytes, int nodes, int ranks, StepHeader& header) {
  const std::byte* at = bytes.data();
  header.rejected = take<std::uint8_t>(at);
  header.operation = take<Operation>(at);
  header.path = take<Path>(at);
  header.dtype = take<DType>(at);
  header.top_k = take<std::uint32_t>(at);
  header.hidden = take<std::uint32_t>(at);
  header.flags = take<std::uint32_t>(at);
  header.step = take<std::uint64_t>(at);
  header.handle_step = take<std::uint64_t>(at);
  header.windows_hash = take<std::uint64_t>(at);
  header.tokens = take<std::uint32_t>(at);
  header.capacity = take<std::uint32_t>(at);
  header.records.resize(static_cast<std::size_t>(nodes));
  for (std::uint32_t& count : header.records) count = take<std::uint32_t>(at);
  header.copies.resize(static_cast<std::size_t>(ranks));
  for (std::uint32_t& count : header.copies) count = take<std::uint32_t>(at);
}

namespace {

Status agree_on_fields(std::span<const StepHeader> headers) {
  for (const Agreed& agreed : kAgreed) {
    const std::uint64_t first = agreed.value(headers.front());
    if (std::all_of(headers.begin(), headers.end(),
                    [&](const StepHeader& header) { return agreed.value(header) == first; })) {
      continue;
    }
    std::vector<std::uint64_t> values(headers.size());
    std::transform(headers.begin(), headers.end(), values.begin(), agreed.value);
    const auto odd = odd_one_out(values);
    if (!odd) continue;
    return fail(ErrorCode::Mismatch, RankId(odd->index), agreed.field,
                fmt::format("rank {} says {} = {}, most ranks say {}; all ranks must make the same "
                            "call with the same settings",
                            odd->index, agreed.field, values[odd->index], odd->common));
  }
  return {};
}

}  // namespace

Status agree(std::span<const StepHeader> headers) {
  for (std::size_t p = 0; p < headers.size(); ++p) {
    if (headers[p].rejected == 0) continue;
    return fail(ErrorCode::PeerRejected, RankId(p), "input",
                fmt::format("rank {} refused its input with {}; nothing was sent", p,
                            to_string(static_cast<ErrorCode>(headers[p].rejected))));
  }
  RAILWAVE_TRY(agree_on_fields(headers));
  if (headers.front().operation != Operation::Dispatch) return {};
  for (std::size_t p = 0; p < headers.size(); ++p) {
    std::int64_t need = 0;
    for (const StepHeader& header : headers) need += header.copies[p];
    if (need <= headers[p].capacity) continue;
    Error error{ErrorCode::CapacityExceeded, static_cast<std::int32_t>(p), "recv_rows",
                fmt::format("rank {} would receive {} rows and has room for {}{}; raise "
                            "max_recv_rows or the receive buffer",
                            p, need, headers[p].capacity,
                            (headers[p].flags & kExpertMajor) == 0
                                ? ""
                                : " beside (expert_alignment - 1) for each of its experts")};
    error.need = need;
    error.have = headers[p].capacity;
    return fail(std::move(error));
  }
  return {};
}

Status check_counts(std::span<const StepHeader> headers, std::int64_t max_tokens) {
  for (std::size_t p = 0; p < headers.size(); ++p) {
    const StepHeader& header = headers[p];
    const std::uint64_t rows_of_token = (header.flags & kExpertMajor) != 0 ? header.top_k : 1;
    const auto at_most = [](std::uint64_t most) {
      return [most](std::uint32_t count) { return count <= most; };
    };
    if (header.tokens <= max_tokens &&
        std::all_of(header.records.begin(), header.records.end(), at_most(header.tokens)) &&
        std::all_of(header.copies.begin(), header.copies.end(),
                    at_most(header.tokens * rows_of_token))) {
      continue;
    }
    return fail(ErrorCode::ProtocolViolation, RankId(p), "records",
                fmt::format("the header of rank {} says {} tokens (at most {}) and more records "
                            "than it can have; the network or the sender is broken",
                            p, header.tokens, max_tokens));
  }
  return {};
}

StepCounts StepCounts::of(std::span<const StepHeader> headers, int nodes, Memory* memory) {
  StepCounts counts(memory);
  counts.nodes = nodes;
  counts.ranks = static_cast<int>(headers.size());
  const std::size_t ranks = headers.size();
  counts.first_row.resize(ranks * ranks);
  counts.rows.assign(ranks, 0);
  counts.records.reserve(ranks * static_cast<std::size_t>(nodes));
  counts.copies.reserve(ranks * ranks);
  for (std::size_t p = 0; p < ranks; ++p) {
    counts.records.insert(counts.records.end(), headers[p].records.begin(),
                          headers[p].records.end());
    counts.copies.insert(counts.copies.end(), headers[p].copies.begin(), headers[p].copies.end());
    for (std::size_t q = 0; q < ranks; ++q) {
      counts.first_row[p * ranks + q] = counts.rows[q];
      counts.rows[q] += headers[p].copies[q];
    }
  }
  return counts;
}

}  // namespace railwave::exec
