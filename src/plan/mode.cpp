#include "plan/mode.hpp"

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::plan {
namespace {

constexpr std::int64_t kMostTopK = 65'535;

Wide wide(std::int64_t value) { return static_cast<Wide>(value); }

Status at_least(const char* field, std::int64_t value, std::int64_t least) {
  if (value >= least) return {};
  return fail(ErrorCode::InvalidArgument, field,
              fmt::format("{} is {}, expected at least {}", field, value, least));
}

Fraction total(Amount amount, std::int64_t workers) {
  return {wide(amount.value) * (amount.per == Per::Worker ? wide(workers) : 1), 1};
}

Status check_remote_nodes(const Ratio& given, std::int64_t nodes) {
  const bool fraction = given.num >= 0 && given.den >= 1;
  if (fraction && wide(given.num) <= wide(nodes - 1) * wide(given.den)) return {};
  return fail(ErrorCode::InvalidArgument, "remote_nodes",
              fmt::format("a token reaches {}/{} remote nodes, expected 0 to {}", given.num,
                          given.den, nodes - 1));
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
  if (in.model.top_k > kMostTopK || wide(in.model.top_k) > experts.num) {
    return fail(ErrorCode::InvalidArgument, "top_k",
                fmt::format("top_k is {}, expected at most the {} experts and {}", in.model.top_k,
                            decimal(experts), kMostTopK));
  }
  if (experts.num > wide(INT64_MAX)) {
    return fail(ErrorCode::InvalidArgument, "experts", "experts of all workers leave 64 bits");
  }
  if (formula != ModeFormula::Bytes) return {};
  RAILWAVE_TRY(at_least("expert_bytes", in.model.expert_bytes, 1));
  RAILWAVE_TRY(at_least("dispatch_row_bytes", in.model.dispatch_row_bytes, 1));
  RAILWAVE_TRY(at_least("return_row_bytes", in.model.return_row_bytes, 1));
  return in.load.remote_nodes ? check_remote_nodes(*in.load.remote_nodes, in.nodes) : Status{};
}

using MaybeFraction = std::optional<Fraction>;

MaybeFraction multiplied(std::initializer_list<Fraction> factors) {
  MaybeFraction out = Fraction{1, 1};
  for (const Fraction& factor : factors) {
    if (factor.num == 0) return Fraction{0, 1};
  }
  for (const Fraction& factor : factors) {
    if (out) out = times(*out, factor);
  }
  return out;
}

/// Volumes are linear: C_dc = experts as given * `per_expert`, C_ec = tokens as given *
/// `per_token`.
struct Slopes {
  MaybeFraction per_expert;
  MaybeFraction per_token;
  MaybeFraction expert_size;
  MaybeFraction data_size;
};

Slopes draft_slopes(const ModeInputs& in, bool squared) {
  const Wide n = wide(in.nodes);
  const Fraction m = lowest(wide(in.workers), n);
  const Fraction h{wide(in.model.hidden), 1};
  // As printed nothing is divided by the workers; else E and T are those of a worker.
  const auto share = [&](Amount amount) {
    return squared && amount.per == Per::Total ? Fraction{1, wide(in.workers)} : Fraction{1, 1};
  };
  const Fraction k{wide(in.model.top_k), 1};
  const Fraction tokens{wide(in.load.tokens.value), 1};
  Slopes out;
  out.per_expert =
      multiplied({{8, 1}, h, squared ? h : Fraction{1, 1}, share(in.model.experts), m, {n - 1, 1}});
  out.per_token = multiplied({{2, 1}, h, k, share(in.load.tokens), m, lowest(n - 1, n)});
  out.expert_size = multiplied({{8, 1}, h, h});
  out.data_size = multiplied({{2, 1}, h, k, share(in.load.tokens), tokens});
  return out;
}

Slopes byte_slopes(const ModeInputs& in, Fraction remote_nodes) {
  const Wide n = wide(in.nodes);
  const auto workers = [&](Amount amount) {
    return Fraction{amount.per == Per::Worker ? wide(in.workers) : 1, 1};
  };
  const Fraction expert{wide(in.model.expert_bytes), 1};
  const Fraction row{wide(in.model.dispatch_row_bytes), 1};
  const Fraction both{row.num + wide(in.model.return_row_bytes), 1};
  const Fraction tokens{wide(in.load.tokens.value), 1};
  Slopes out;
  out.per_expert = multiplied({expert, workers(in.model.experts), lowest(n - 1, n)});
  out.per_token = multiplied({remote_nodes, both, workers(in.load.tokens), {1, n}});
  out.expert_size = expert;
  out.data_size = multiplied({row, tokens, workers(in.load.tokens), {1, wide(in.workers)}});
  return out;
}

/// The least integer t with volume < t * slope.
std::optional<Wide> least_above(Fraction volume, Fraction slope) {
  const auto at = over(volume, slope);
  return at ? sum(at->num / at->den, Wide{1}) : std::nullopt;
}

/// The largest integer e >= 1 with e * slope < volume.
std::optional<Wide> largest_below(Fraction volume, Fraction slope) {
  const auto at = over(volume, slope);
  if (!at) return std::nullopt;
  const Wide whole = at->num / at->den;
  const Wide below = at->num % at->den == 0 && whole > 0 ? whole - 1 : whole;
  return below > 0 ? std::optional(below) : std::nullopt;
}

Fraction remote_nodes_of(const ModeInputs& in) {
  if (in.load.remote_nodes) {
    return lowest(wide(in.load.remote_nodes->num), wide(in.load.remote_nodes->den));
  }
  const auto experts = static_cast<std::int64_t>(total(in.model.experts, in.workers).num);
  return expected_remote_nodes(in.nodes, experts, in.model.top_k);
}

}  // namespace

Fraction expected_remote_nodes(std::int64_t nodes, std::int64_t experts, std::int64_t top_k) {
  constexpr Wide kOne = Wide{1} << 40;
  // Of a node with `own` experts: the chance that at least one of the K is among them.
  const auto reached = [&](std::int64_t own) {
    Wide missed = kOne;
    for (std::int64_t i = 0; i < top_k && missed != 0; ++i) {
      const std::int64_t others = experts - own - i;
      missed = others > 0 ? missed * wide(others) / wide(experts - i) : 0;
    }
    return kOne - missed;
  };
  const std::int64_t size = experts / nodes;
  const std::int64_t longer = experts % nodes;
  Wide sum_reached = wide(nodes - longer) * reached(size);
  if (longer > 0) sum_reached += wide(longer) * reached(size + 1);
  // A token's own node is any of them with equal chances, and needs no network.
  const Fraction all = lowest(sum_reached, kOne);
  return *times(all, lowest(wide(nodes - 1), wide(nodes)));
}

Result<ModeDecision> select_mode(ModeFormula formula, const ModeInputs& in) {
  RAILWAVE_TRY(check(formula, in));
  const bool bytes = formula == ModeFormula::Bytes;
  ModeDecision out;
  if (bytes) out.remote_nodes = remote_nodes_of(in);
  const Slopes slopes =
      bytes ? byte_slopes(in, out.remote_nodes) : draft_slopes(in, formula == ModeFormula::DraftH2);
  const Fraction experts{wide(in.model.experts.value), 1};
  const Fraction tokens{wide(in.load.tokens.value), 1};
  const auto data = slopes.per_expert ? times(*slopes.per_expert, experts) : std::nullopt;
  const auto rows = slopes.per_token ? times(*slopes.per_token, tokens) : std::nullopt;
  if (!data || !rows || !slopes.expert_size || !slopes.data_size) {
    return fail(ErrorCode::InvalidArgument, "volume",
                "the bytes of a step do not fit into 128 bits");
  }
  out.expert_size = *slopes.expert_size;
  out.data_size = *slopes.data_size;
  out.data_centric = *data;
  out.expert_centric = *rows;
  out.mode = less(*data, *rows) ? Mode::DataCentric : Mode::ExpertCentric;
  out.tokens_from = least_above(*data, *slopes.per_token);
  if (!bytes) {
    out.experts_to = largest_below(*rows, *slopes.per_expert);
  } else if (const auto of_byte = over(*data, {wide(in.model.expert_bytes), 1})) {
    out.expert_bytes_to = largest_below(*rows, *of_byte);
  }
  return out;
}

}  // namespace railwave::plan
