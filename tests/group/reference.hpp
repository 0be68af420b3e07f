// The definition of dispatch and combine (DESIGN 4) in one process, sharing no code with src/.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

namespace reference {

/// A model: which node and rank owns each expert, and every rank's tokens.
struct Model {
  std::vector<int> node_of_rank;
  std::vector<int> owner;  // expert -> rank
  int top_k = 1;
  int hidden = 1;
  bool bf16 = true;
  std::vector<std::vector<std::int64_t>> idx;  // [P][T*K]
  [[nodiscard]] int tokens(std::size_t p) const { return static_cast<int>(idx[p].size()) / top_k; }
};

struct Row {  // one received row: whose token it is
  int source;
  int token;
};

/// Rows of rank `q`, by (source rank, token).
inline std::vector<Row> received_rows(const Model& m, int q) {
  std::vector<Row> rows;
  for (int p = 0; p < static_cast<int>(m.idx.size()); ++p) {
    for (int t = 0; t < m.tokens(static_cast<std::size_t>(p)); ++t) {
      bool here = false;
      for (int k = 0; k < m.top_k; ++k) {
        const auto e =
            m.idx[static_cast<std::size_t>(p)][static_cast<std::size_t>(t * m.top_k + k)];
        here |= e >= 0 && m.owner[static_cast<std::size_t>(e)] == q;
      }
      if (here) rows.push_back({p, t});
    }
  }
  return rows;
}

/// Nearest even by arithmetic on doubles: bf16 has 8 significant bits, subnormals from 2^-133.
inline float round_bf16(float v) {
  if (!std::isfinite(v) || v == 0) return v;
  int exponent = 0;
  (void)std::frexp(static_cast<double>(v), &exponent);
  const int unit = std::max(exponent - 8, -133);
  const double scaled = std::nearbyint(std::ldexp(static_cast<double>(v), -unit));
  const double rounded = std::ldexp(scaled, unit);
  return std::fabs(rounded) >= std::ldexp(1.0, 128) ? std::copysign(INFINITY, v)
                                                    : static_cast<float>(rounded);
}

/// y[T*H] of rank p. expert_row(rank q, source p, token t, column h) is the fp32 value of the row
/// that rank q hands to combine. The sums run in the order of the definition.
inline std::vector<float> combined(const Model& m, int p,
                                   const std::function<float(int, int, int, int)>& expert_row) {
  const auto wire = [&](float v) { return m.bf16 ? round_bf16(v) : v; };
  std::vector<float> y;
  for (int t = 0; t < m.tokens(static_cast<std::size_t>(p)); ++t) {
    std::set<std::pair<int, int>> parts;  // (node, rank), both ascending
    for (int k = 0; k < m.top_k; ++k) {
      const auto e = m.idx[static_cast<std::size_t>(p)][static_cast<std::size_t>(t * m.top_k + k)];
      if (e < 0) continue;
      const int q = m.owner[static_cast<std::size_t>(e)];
      parts.insert({m.node_of_rank[static_cast<std::size_t>(q)], q});
    }
    for (int h = 0; h < m.hidden; ++h) {
      float sum = 0;
      for (auto it = parts.begin(); it != parts.end();) {
        const int node = it->first;
        float partial = 0;
        for (; it != parts.end() && it->first == node; ++it) {
          partial += expert_row(it->second, p, t, h);
        }
        sum += wire(partial);
      }
      y.push_back(wire(sum));
    }
  }
  return y;
}

}  // namespace reference
