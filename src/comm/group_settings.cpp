#include "comm/group_settings.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "exec/majority.hpp"
#include "exec/record.hpp"
#include "exec/row_shape.hpp"

namespace railwave::comm {
namespace {

tl::unexpected<Error> bad(const CommunicatorOptions& options, const char* field, std::int64_t value,
                          const char* rule) {
  return fail(ErrorCode::InvalidArgument, options.self, field,
              fmt::format("{} = {}, but it must be {}", field, value, rule));
}

constexpr std::int64_t kMost = 1LL << 31;  // rows and bytes of a row fit their 32-bit wire fields

constexpr std::int64_t kMostBytes = 1LL << 44;

/// One value on which all ranks must agree; the names are the options' own.
struct Setting {
  std::string_view name;
  std::uint64_t value;
};

using Settings = std::array<Setting, 17>;

Settings settings_of(const Topology& topology, const Placement& placement,
                     const CommunicatorOptions& o) {
  const auto u = [](auto value) { return static_cast<std::uint64_t>(value); };
  return {{{"nodes", u(topology.nodes())},
           {"num_ranks", u(topology.ranks())},
           {"rails", u(topology.rails())},
           {"num_experts", u(placement.experts())},
           {"max_top_k", u(o.max_top_k)},
           {"max_hidden", u(o.max_hidden)},
           {"widest_dtype", u(o.widest_dtype)},
           {"max_tokens_per_rank", u(o.max_tokens_per_rank)},
           {"max_recv_rows", u(o.max_recv_rows)},
           {"shared_bytes", u(o.shared_bytes)},
           {"wave_start", u(o.wave_start)},
           {"window_start", u(o.window_start)},
           {"chunk_bytes", u(o.chunk_bytes)},
           {"send_slots", u(o.send_slots)},
           {"phases_in_flight", u(o.phases_in_flight)},
           {"topology", topology.fingerprint()},
           {"placement", placement.fingerprint()}}};
}

constexpr std::size_t kValues = std::tuple_size_v<Settings> + 1;  // and the own check's code

}  // namespace

namespace {

Status check_policies(const CommunicatorOptions& o) {
  if (o.wave_start == StartPolicy::Submission) {
    return bad(o, "wave_start", 0, "rail-barrier, grant or free");
  }
  if (o.window_start != StartPolicy::Submission && o.window_start != StartPolicy::Free) {
    return bad(o, "window_start", static_cast<int>(o.window_start), "barrier or free");
  }
  if (o.packing > Packing::Prepacked) {
    return bad(o, "packing", static_cast<int>(o.packing), "pipelined, sequential or prepacked");
  }
  if (o.lead_bytes < 0) return bad(o, "lead_bytes", o.lead_bytes, ">= 0");
  return {};
}

/// Rows of the widest type; the scales make short fp8 rows the longest ones.
std::int64_t max_row_bytes(const CommunicatorOptions& o) {
  return std::max(exec::RowShape::of(o.widest_dtype, o.max_hidden).bytes(),
                  exec::RowShape::of(DType::FP8E4M3, o.max_hidden).bytes());
}

/// Keeps every size of a segment far from overflow: rows and stages are sums of such products.
Status check_memory(const Topology& topology, const CommunicatorOptions& o) {
  const std::int64_t rows = std::max(o.max_recv_rows, o.max_tokens_per_rank * topology.ranks());
  const std::int64_t record = max_row_bytes(o) + exec::record_meta_bytes(o.max_top_k);
  if (rows <= kMostBytes / record) return {};
  return bad(o, "max_recv_rows", rows, "such that rows x bytes of a row are at most 2^44");
}

}  // namespace

Status check_sizes(const Topology& topology, const CommunicatorOptions& o) {
  if (o.self.value < 0 || o.self.value >= topology.ranks()) {
    return bad(o, "self", o.self.value, "a rank of the topology");
  }
  if (o.max_tokens_per_rank < 0 || o.max_tokens_per_rank > kMost / topology.ranks()) {
    return bad(o, "max_tokens_per_rank", o.max_tokens_per_rank, "in 0 .. 2^31 / ranks");
  }
  if (o.max_recv_rows < 1 || o.max_recv_rows > kMost) {
    return bad(o, "max_recv_rows", o.max_recv_rows,
               "in 1 .. 2^31; worst_case_recv_rows() says how many can come");
  }
  if (o.shared_bytes < 0 || o.shared_bytes > kMostBytes) {
    return bad(o, "shared_bytes", o.shared_bytes, "in 0 .. 2^44");
  }
  if (o.max_hidden < 1 || o.max_hidden > kMost / 4) {
    return bad(o, "max_hidden", o.max_hidden, "in 1 .. 2^29");
  }
  if (o.max_top_k < 1) return bad(o, "max_top_k", o.max_top_k, "at least 1");
  if (to_string(o.widest_dtype) == "?") {
    return bad(o, "widest_dtype", static_cast<int>(o.widest_dtype), "an element type");
  }
  if (o.chunk_bytes < 1 || o.chunk_bytes > kMost) {
    return bad(o, "chunk_bytes", o.chunk_bytes, "in 1 .. 2^31");
  }
  if (o.send_slots < 1 || o.send_slots > 1024) {
    return bad(o, "send_slots", o.send_slots, "in 1 .. 1024");
  }
  if (o.phases_in_flight < 1 || o.phases_in_flight > 16) {
    return bad(o, "phases_in_flight", o.phases_in_flight, "in 1 .. 16");
  }
  return check_memory(topology, o);
}

Status check_settings(const Topology& topology, const Placement& placement,
                      const CommunicatorOptions& o) {
  if (placement.ranks() != topology.ranks()) {
    return bad(o, "placement", placement.ranks(), "made for the topology's ranks");
  }
  if (o.max_top_k < 1 || o.max_top_k > placement.experts()) {
    return fail(ErrorCode::InvalidArgument, o.self, "max_top_k",
                fmt::format("top_k {} with num_experts {}: a token can choose 1 .. num_experts",
                            o.max_top_k, placement.experts()));
  }
  RAILWAVE_TRY(check_sizes(topology, o));
  return check_policies(o);
}

Status agree_on_settings(AllGather& all_gather, const Topology& topology,
                         const Placement& placement, const CommunicatorOptions& options,
                         const Status& own, Deadline deadline) {
  const Settings settings = settings_of(topology, placement, options);
  std::array<std::uint64_t, kValues> mine{};
  mine[0] = own ? 0 : static_cast<std::uint64_t>(own.error().code);
  for (std::size_t i = 0; i < settings.size(); ++i) mine[i + 1] = settings[i].value;
  const auto all = all_gather.all_gather(std::as_bytes(std::span(mine)), deadline);
  if (!own) return own;
  if (!all) return fail(all.error());
  std::vector<std::array<std::uint64_t, kValues>> values(all->size());
  for (std::size_t p = 0; p < all->size(); ++p) {
    if ((*all)[p].size() != sizeof(mine)) {
      return fail(ErrorCode::Mismatch, RankId(p), "version",
                  fmt::format("rank {} runs another version of railwave", p));
    }
    std::memcpy(values[p].data(), (*all)[p].data(), sizeof(mine));
    if (values[p][0] != 0) {
      return fail(ErrorCode::PeerRejected, RankId(p), "settings",
                  fmt::format("rank {} refused its settings with {}", p,
                              to_string(static_cast<ErrorCode>(values[p][0]))));
    }
  }
  std::vector<std::uint64_t> column(values.size());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    for (std::size_t p = 0; p < values.size(); ++p) column[p] = values[p][i + 1];
    const auto odd = exec::odd_one_out(column);
    if (!odd) continue;
    return fail(ErrorCode::Mismatch, RankId(odd->index), std::string(settings[i].name),
                fmt::format("rank {} says {} = {}, most ranks say {}; all ranks must make the "
                            "group with the same settings",
                            odd->index, settings[i].name, column[odd->index], odd->common));
  }
  return {};
}

exec::Limits limits_of(const CommunicatorOptions& options) {
  exec::Limits limits;
  limits.max_tokens = options.max_tokens_per_rank;
  limits.max_recv_rows = options.max_recv_rows;
  limits.shared_bytes = options.shared_bytes;
  limits.max_row_bytes = max_row_bytes(options);
  limits.max_top_k = options.max_top_k;
  limits.chunk_bytes = options.chunk_bytes;
  limits.send_slots = options.send_slots;
  limits.phases = options.phases_in_flight;
  limits.packing = options.packing;
  return limits;
}

}  // namespace railwave::comm
