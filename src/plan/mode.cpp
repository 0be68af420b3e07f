#include "plan/mode.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::plan {
namespace {

constexpr std::int64_t kMostTopK = 65'535;
/// The longest numerator or denominator of a chance: sums and products of two of them, and of a few
/// 63-bit factors, stay far below the 8,192 bits of Wide.
constexpr std::int64_t kMostBits = 2048;

Status at_least(const char* field, std::int64_t value, std::int64_t least) {
  if (value >= least) return {};
  return fail(ErrorCode::InvalidArgument, field,
              fmt::format("{} is {}, expected at least {}", field, value, least));
}

Fraction total(Amount amount, std::int64_t workers) {
  return {Wide(amount.value) * (amount.per == Per::Worker ? workers : 1), 1};
}

/// A token has K experts, and no more of their nodes can be others than there are.
Status check_remote_nodes(const Ratio& given, const ModeInputs& in) {
  if (given.den < 1) {
    return fail(ErrorCode::InvalidArgument, "remote_nodes",
                fmt::format("{}/{} is no number of nodes", given.num, given.den));
  }
  const std::int64_t most = std::min(in.model.top_k, in.nodes - 1);
  if (given.num >= 0 && given.num <= Wide(most) * given.den) return {};
  return fail(ErrorCode::InvalidArgument, "remote_nodes",
              fmt::format("a token reaches {} remote nodes, expected 0 to {}: it has {} experts, "
                          "and there are {} other nodes",
                          given.value(), most, in.model.top_k, in.nodes - 1));
}

Status check(ModeFormula formula, const ModeInputs& in) {
  RAILWAVE_TRY(at_least("nodes", in.nodes, 1));
  RAILWAVE_TRY(at_least("workers", in.workers, in.nodes));
  if (in.workers > INT32_MAX) {
    return fail(ErrorCode::InvalidArgument, "workers",
                fmt::format("workers is {}, expected at most 2^31 - 1", in.workers));
  }
  RAILWAVE_TRY(at_least("hidden", in.model.hidden, 1));
  RAILWAVE_TRY(at_least("experts", in.model.experts.value, 1));
  RAILWAVE_TRY(at_least("top_k", in.model.top_k, 1));
  RAILWAVE_TRY(at_least("tokens", in.load.tokens.value, 0));
  const Fraction experts = total(in.model.experts, in.workers);
  if (in.model.top_k > kMostTopK || in.model.top_k > experts.num) {
    return fail(ErrorCode::InvalidArgument, "top_k",
                fmt::format("top_k is {}, expected at most the {} experts and {}", in.model.top_k,
                            decimal(experts), kMostTopK));
  }
  if (experts.num > INT64_MAX) {
    return fail(ErrorCode::InvalidArgument, "experts", "experts of all workers leave 64 bits");
  }
  if (formula != ModeFormula::Bytes) return {};
  RAILWAVE_TRY(at_least("expert_bytes", in.model.expert_bytes, 1));
  RAILWAVE_TRY(at_least("dispatch_row_bytes", in.model.dispatch_row_bytes, 1));
  RAILWAVE_TRY(at_least("return_row_bytes", in.model.return_row_bytes, 1));
  return in.load.remote_nodes ? check_remote_nodes(*in.load.remote_nodes, in) : Status{};
}

Fraction product(std::initializer_list<Fraction> factors) {
  Fraction out{1, 1};
  for (const Fraction& factor : factors) out = times(out, factor);
  return out;
}

/// Volumes are linear: C_dc = experts as given * `per_expert`, C_ec = tokens as given *
/// `per_token`.
struct Slopes {
  Fraction per_expert;
  Fraction per_token;
  Fraction expert_size;
  Fraction data_size;
};

Slopes draft_slopes(const ModeInputs& in, bool squared) {
  const Wide n = in.nodes;
  const Fraction m{in.workers, n};
  const Fraction h{in.model.hidden, 1};
  // As printed nothing is divided by the workers; else E and T are those of a worker.
  const auto share = [&](Amount amount) {
    return squared && amount.per == Per::Total ? Fraction{1, in.workers} : Fraction{1, 1};
  };
  const Fraction k{in.model.top_k, 1};
  const Fraction tokens{in.load.tokens.value, 1};
  Slopes out;
  out.per_expert =
      product({{8, 1}, h, squared ? h : Fraction{1, 1}, share(in.model.experts), m, {n - 1, 1}});
  out.per_token = product({{2, 1}, h, k, share(in.load.tokens), m, {n - 1, n}});
  out.expert_size = product({{8, 1}, h, h});
  out.data_size = product({{2, 1}, h, k, share(in.load.tokens), tokens});
  return out;
}

Slopes byte_slopes(const ModeInputs& in, const Fraction& remote_nodes) {
  const Wide n = in.nodes;
  const auto workers = [&](Amount amount) {
    return Fraction{amount.per == Per::Worker ? in.workers : 1, 1};
  };
  const Fraction expert{in.model.expert_bytes, 1};
  const Fraction row{in.model.dispatch_row_bytes, 1};
  const Fraction both{row.num + in.model.return_row_bytes, 1};
  const Fraction tokens{in.load.tokens.value, 1};
  Slopes out;
  out.per_expert = product({expert, workers(in.model.experts), {n - 1, n}});
  out.per_token = product({remote_nodes, both, workers(in.load.tokens), {1, n}});
  out.expert_size = expert;
  out.data_size = product({row, tokens, workers(in.load.tokens), {1, in.workers}});
  return out;
}

/// The least integer t with volume < t * slope.
std::optional<Wide> least_above(const Fraction& volume, const Fraction& slope) {
  const auto at = over(volume, slope);
  return at ? std::optional<Wide>(at->num / at->den + 1) : std::nullopt;
}

/// The largest integer e >= 1 with e * slope < volume.
std::optional<Wide> largest_below(const Fraction& volume, const Fraction& slope) {
  const auto at = over(volume, slope);
  if (!at || at->num <= at->den) return std::nullopt;
  return (at->num - 1) / at->den;
}

Result<Fraction> remote_nodes_of(const ModeInputs& in) {
  if (in.load.remote_nodes) return lowest(in.load.remote_nodes->num, in.load.remote_nodes->den);
  const auto experts = static_cast<std::int64_t>(total(in.model.experts, in.workers).num);
  return expected_remote_nodes(in.nodes, experts, in.model.top_k);
}

/// The chance that none of K different experts of E is among `own` of them:
/// C(E - own, K) / C(E, K), which stays the same when own and K change places.
Fraction missed(std::int64_t experts, std::int64_t own, std::int64_t top_k) {
  const auto [fewer, more] = std::minmax(own, top_k);
  if (fewer > experts - more) return {0, 1};
  Wide num = 1;
  Wide den = 1;
  for (std::int64_t i = 0; i < fewer; ++i) {
    num *= experts - more - i;
    den *= experts - i;
  }
  return lowest(num, den);
}

}  // namespace

Result<Fraction> expected_remote_nodes(std::int64_t nodes, std::int64_t experts,
                                       std::int64_t top_k) {
  const std::int64_t size = experts / nodes;
  const std::int64_t longer = experts % nodes;
  const std::int64_t factors = std::min(size + 1, top_k);
  const auto length =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(experts)));
  if (factors * length > kMostBits) {
    return fail(ErrorCode::InvalidArgument, "remote_nodes",
                fmt::format("top-{} of {} experts on {} nodes: the mean of even routing is a "
                            "fraction of more than {} bits; give a measured mean",
                            top_k, experts, nodes, kMostBits));
  }
  const auto reached = [&](std::int64_t of, std::int64_t own) {
    return times({of, 1}, rest_of_one(missed(experts, own, top_k)));
  };
  const Fraction all = plus(reached(nodes - longer, size), reached(longer, size + 1));
  // A token's own node is any of them with equal chances, and needs no network.
  return times(all, {nodes - 1, nodes});
}

Result<ModeDecision> select_mode(ModeFormula formula, const ModeInputs& in) {
  RAILWAVE_TRY(check(formula, in));
  const bool bytes = formula == ModeFormula::Bytes;
  ModeDecision out;
  if (bytes) {
    auto remote_nodes = remote_nodes_of(in);
    if (!remote_nodes) return fail(std::move(remote_nodes).error());
    out.remote_nodes = *std::move(remote_nodes);
  }
  const Slopes slopes =
      bytes ? byte_slopes(in, out.remote_nodes) : draft_slopes(in, formula == ModeFormula::DraftH2);
  out.expert_size = slopes.expert_size;
  out.data_size = slopes.data_size;
  out.data_centric = times(slopes.per_expert, {in.model.experts.value, 1});
  out.expert_centric = times(slopes.per_token, {in.load.tokens.value, 1});
  out.mode = less(out.data_centric, out.expert_centric) ? Mode::DataCentric : Mode::ExpertCentric;
  out.tokens_from = least_above(out.data_centric, slopes.per_token);
  if (!bytes) {
    out.experts_to = largest_below(out.expert_centric, slopes.per_expert);
  } else if (const auto of_byte = over(out.data_centric, {in.model.expert_bytes, 1})) {
    out.expert_bytes_to = largest_below(out.expert_centric, *of_byte);
  }
  return out;
}

}  // namespace railwave::plan
