// What `railwave describe` says about a trace on a cluster.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <railwave/error.hpp>

#include "model/imbalance.hpp"
#include "model/traffic.hpp"
#include "report/heat_map.hpp"

namespace railwave::report {

/// p10, p50 and p90 over layers by upper_quantile().
struct Spread {
  std::optional<double> p10;
  std::optional<double> p50;
  std::optional<double> p90;
};

/// Fields marked (set) come from the caller, the others from summarise().
struct Description {
  std::string trace;                    ///< (set) a name, no folder
  int experts = 0;                      ///< (set) E
  int top_k = 0;                        ///< (set) K; 0: the trace has counts only
  std::int64_t tokens = 0;              ///< (set) of a layer; 0: the trace has counts only
  int sources = 1;                      ///< (set) of a counts trace
  std::vector<int> ranks_per_node;      ///< (set) [N]
  int rails = 0;                        ///< (set) R
  std::string windows;                  ///< (set) the submitted windows' name
  std::int64_t row_bytes = 0;           ///< (set)
  std::vector<TrafficFigures> layers;   ///< (set) [L]
  TrafficFigures overall;               ///< (set) of the sum over layers
  std::vector<std::int64_t> rank_rows;  ///< (set) [P, P] of the sum over layers
  std::vector<std::int64_t> bins;       ///< (set) [G] sorted bins (App. A.6), sum over layers
  std::int64_t node_rows = 0;           ///< (set) rows to any node, own included, all layers

  Spread expert_imbalance;
  Spread source_imbalance;
  Spread destination_imbalance;
  std::optional<LinearFit> source_fit;       ///< expert imbalance -> source imbalance, Fig. 2(b)
  std::optional<LinearFit> destination_fit;  ///< expert imbalance -> destination imbalance
  std::optional<double> nodes_per_token;     ///< own included; ids only
  std::optional<double> remote_nodes_per_token;  ///< ids only
  std::optional<double> rows_per_pair;  ///< rows to nodes over (token, slot) pairs; ids only
};

/// Fills what is computed. Layers without an imbalance are left out of spreads and fits.
void summarise(Description& description);

/// Header lines, one row a layer (the first `max_layers`), spreads, the sum over layers, fits, heat
/// maps and bars. REQUIRES: a summarised description.
std::string to_table(const Description& description, Shades shades, std::size_t max_layers);

/// The same as JSON, schema "railwave.describe/1" (docs/formats/describe.md), every layer.
std::string to_json(const Description& description);

}  // namespace railwave::report
