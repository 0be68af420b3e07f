// Whether token rows or expert weights should travel between nodes
// (draft-li-moe-ep-communication-optimization-00, section 4; DESIGN 5.9).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <railwave/error.hpp>

#include "model/descriptors.hpp"
#include "plan/wide.hpp"

namespace railwave::plan {

/// Expert-centric: rows go to the experts. Data-centric: experts are fetched to the rows.
enum class Mode : std::uint8_t { ExpertCentric = 0, DataCentric = 1 };

constexpr std::string_view to_string(Mode mode) {
  return mode == Mode::DataCentric ? "data-centric" : "expert-centric";
}

/// n nodes, P workers, m = P / n; E experts, T = tokens * K; a w: per worker. Bytes into a node.
///   Draft    C_dc = 8 H E m (n-1), C_ec = 2 m H T (n-1)/n as printed, E and T as they are given
///   DraftH2  C_dc = 8 H^2 E_w m (n-1), C_ec = 2 m H T_w (n-1)/n
///   Bytes    C_dc = expert_bytes E (n-1)/n: every foreign expert fetched once per node;
///            C_ec = tokens/n * remote nodes per token * (dispatch_row_bytes + return_row_bytes):
///            one row per token and remote node, there and back
enum class ModeFormula : std::uint8_t { Draft = 0, DraftH2 = 1, Bytes = 2 };

constexpr std::array<ModeFormula, 3> kAllModeFormulas{ModeFormula::Draft, ModeFormula::DraftH2,
                                                      ModeFormula::Bytes};

constexpr std::string_view to_string(ModeFormula formula) {
  constexpr std::array<std::string_view, 3> kNames{"draft", "draft-h2", "bytes"};
  return kNames[static_cast<std::size_t>(formula)];
}

constexpr std::optional<ModeFormula> mode_formula_from_string(std::string_view name) {
  for (const ModeFormula formula : kAllModeFormulas) {
    if (to_string(formula) == name) return formula;
  }
  return std::nullopt;
}

enum class Per : std::uint8_t { Total = 0, Worker = 1 };

/// A count as it was given: of the whole job, or of each worker.
struct Amount {
  std::int64_t value = 0;
  Per per = Per::Total;
  friend bool operator==(const Amount&, const Amount&) = default;
};

struct ModeModel {
  std::int64_t hidden = 0;              ///< H >= 1
  Amount experts;                       ///< E >= 1, of one MoE layer
  std::int64_t top_k = 1;               ///< K in 1..min(E, 65,535)
  std::int64_t expert_bytes = 0;        ///< Bytes only: weights of one expert, >= 1
  std::int64_t dispatch_row_bytes = 0;  ///< Bytes only: elements and scales, >= 1
  std::int64_t return_row_bytes = 0;    ///< Bytes only: >= 1
  friend bool operator==(const ModeModel&, const ModeModel&) = default;
};

/// What a step brings.
struct ModeLoad {
  Amount tokens;  ///< >= 0
  /// Bytes only: nodes other than its own that a token reaches, on average, 0..min(K, n-1); absent:
  /// expected_remote_nodes().
  std::optional<Ratio> remote_nodes{};
};

struct ModeInputs {
  std::int64_t nodes = 1;    ///< n >= 1
  std::int64_t workers = 1;  ///< P in n..2^31-1, over all nodes
  ModeModel model;
  ModeLoad load;
};

/// Everything is exact. Thresholds keep every other input as it is.
struct ModeDecision {
  Mode mode = Mode::ExpertCentric;
  Fraction expert_size;     ///< S_expert: 8 H^2; Bytes: expert_bytes
  Fraction data_size;       ///< S_data: 2 H T or 2 H T_w; Bytes: a worker's rows, once
  Fraction data_centric;    ///< C_dc
  Fraction expert_centric;  ///< C_ec
  Fraction remote_nodes;    ///< Bytes only: what was used
  /// The least token count, in the unit given, that makes it data-centric. Absent: none does.
  std::optional<Wide> tokens_from;
  /// Draft, DraftH2: the most experts, in the unit given, that leave it data-centric. Absent: no
  /// number does.
  std::optional<Wide> experts_to;
  /// Bytes: the largest expert_bytes that leaves it data-centric. Absent: no size does.
  std::optional<Wide> expert_bytes_to;
};

/// Nodes other than its own that a token reaches when it chooses K different experts with equal
/// chances, each node owns E/n of them (the first E mod n one more) and tokens are spread evenly:
/// (n-1)/n times the sum over nodes of 1 - C(E - own, K) / C(E, K). Exact.
/// Errors: InvalidArgument{remote_nodes} when min(K, ceil(E/n)) factors of the length of E are more
/// than 2,048 bits. REQUIRES: n, E, K as in ModeInputs.
Result<Fraction> expected_remote_nodes(std::int64_t nodes, std::int64_t experts,
                                       std::int64_t top_k);

/// C_dc < C_ec: data-centric; a tie, and so one node, is expert-centric.
/// Errors: InvalidArgument naming the field out of range; of expected_remote_nodes().
/// Source: draft section 4.2.
Result<ModeDecision> select_mode(ModeFormula formula, const ModeInputs& inputs);

}  // namespace railwave::plan
