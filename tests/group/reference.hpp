// The definition of dispatch and combine (DESIGN 4) in one process, sharing no code with src/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <vector>

namespace reference {

enum class Type { BF16, FP16, FP32 };

/// A model: which node and rank owns each expert, and every rank's tokens.
struct Model {
  std::vector<int> node_of_rank;
  std::vector<int> owner;  // expert -> rank
  int top_k = 1;
  int hidden = 1;
  Type type = Type::BF16;                      // of the rows that combine takes
  std::vector<std::vector<std::int64_t>> idx;  // [P][T*K]
  [[nodiscard]] int tokens(std::size_t p) const { return static_cast<int>(idx[p].size()) / top_k; }
  [[nodiscard]] std::int64_t expert(int p, int t, int k) const {
    return idx[static_cast<std::size_t>(p)][static_cast<std::size_t>(t * top_k + k)];
  }
  /// The rank of slot k of token (p, t), -1 for no expert.
  [[nodiscard]] int rank_of(int p, int t, int k) const {
    const std::int64_t e = expert(p, t, k);
    return e < 0 ? -1 : owner[static_cast<std::size_t>(e)];
  }
  /// The expert's place among those of its rank, ascending.
  [[nodiscard]] int local(std::int64_t e) const {
    const auto end = owner.begin() + e;
    return static_cast<int>(std::count(owner.begin(), end, *end));
  }
};

struct Row {  // one received row: whose token it is, and of which slot; source -1: padding
  int source;
  int token;
  int slot = -1;  // -1 in the rank-major layout
};

/// Rows of rank `q` in the rank-major layout, by (source rank, token).
inline std::vector<Row> received_rows(const Model& m, int q) {
  std::vector<Row> rows;
  for (int p = 0; p < static_cast<int>(m.idx.size()); ++p) {
    for (int t = 0; t < m.tokens(static_cast<std::size_t>(p)); ++t) {
      bool here = false;
      for (int k = 0; k < m.top_k; ++k) here |= m.rank_of(p, t, k) == q;
      if (here) rows.push_back({p, t});
    }
  }
  return rows;
}

/// Rows of rank `q` in the expert-major layout: by (local expert, source rank, token, slot), each
/// expert's padded to the alignment.
inline std::vector<Row> expert_rows(const Model& m, int q, int alignment) {
  std::vector<Row> rows;
  for (std::size_t e = 0; e < m.owner.size(); ++e) {
    if (m.owner[e] != q) continue;
    for (int p = 0; p < static_cast<int>(m.idx.size()); ++p) {
      for (int t = 0; t < m.tokens(static_cast<std::size_t>(p)); ++t) {
        for (int k = 0; k < m.top_k; ++k) {
          if (m.expert(p, t, k) == static_cast<std::int64_t>(e)) rows.push_back({p, t, k});
        }
      }
    }
    while (rows.size() % static_cast<std::size_t>(alignment) != 0) rows.push_back({-1, -1});
  }
  return rows;
}

/// Nearest even by arithmetic on doubles, for a type of so many significant bits, whose least
/// subnormal is 2^least and whose range ends below 2^end.
inline float round_to(float v, int bits, int least, int end) {
  if (!std::isfinite(v) || v == 0) return v;
  int exponent = 0;
  (void)std::frexp(static_cast<double>(v), &exponent);
  const int unit = std::max(exponent - bits, least);
  const double rounded =
      std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(v), -unit)), unit);
  return std::fabs(rounded) >= std::ldexp(1.0, end) ? std::copysign(INFINITY, v)
                                                    : static_cast<float>(rounded);
}

inline float round_bf16(float v) { return round_to(v, 8, -133, 128); }
inline float round_fp16(float v) { return round_to(v, 11, -24, 16); }

inline float round_as(Type type, float v) {
  return type == Type::BF16 ? round_bf16(v) : type == Type::FP16 ? round_fp16(v) : v;
}

/// What rank q hands to combine: the fp32 value of column h of its row for slot k of token (p, t),
/// or of its only row for the token when k is -1; times the row's weight if weights are applied.
using Addend = std::function<float(int q, int p, int t, int k, int h)>;

/// y[T*H] of rank p. The sums run in the order of the definition: nodes, ranks, then slots
/// ascending. `one_a_slot`: the expert-major layout.
inline std::vector<float> combined(const Model& m, int p, const Addend& addend,
                                   bool one_a_slot = false) {
  std::vector<float> y;
  for (int t = 0; t < m.tokens(static_cast<std::size_t>(p)); ++t) {
    std::vector<std::tuple<int, int, int>> parts;  // (node, rank, slot)
    for (int k = 0; k < m.top_k; ++k) {
      const int q = m.rank_of(p, t, k);
      if (q < 0) continue;
      parts.emplace_back(m.node_of_rank[static_cast<std::size_t>(q)], q, one_a_slot ? k : -1);
    }
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (int h = 0; h < m.hidden; ++h) {
      float sum = 0;
      for (auto it = parts.begin(); it != parts.end();) {
        const int node = std::get<0>(*it);
        float partial = 0;
        for (; it != parts.end() && std::get<0>(*it) == node; ++it) {
          partial += addend(std::get<1>(*it), p, t, std::get<2>(*it), h);
        }
        sum += round_as(m.type, partial);
      }
      y.push_back(round_as(m.type, sum));
    }
  }
  return y;
}

}  // namespace reference
