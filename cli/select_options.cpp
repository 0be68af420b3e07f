#include "select_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/fail.hpp"
#include "limits.hpp"
#include "number_options.hpp"

namespace railwave::cli {

void add_select_options(CLI::App& verb, SelectOptions& o) {
  verb.add_option("--table", o.table,
                  "cost table (docs/formats/cost_table.md); none: the paper's, for H800")
      ->type_name("FILE");
  verb.add_flag("--force", o.force, "use a table that was made for another cluster shape");
  auto* file = verb.add_option("--cluster", o.cluster, "a cluster.toml instead of the next three")
                   ->type_name("FILE");
  const auto shape = [&](const OptionText& text, int most, std::optional<int>& value) {
    add_whole(verb, text, {1, most}, value)->excludes(file);
  };
  shape({"--nodes", "machines; none: as many as the table's", "N"}, kMostNodes, o.nodes);
  shape({"--ranks-per-node", "processes on each; none: the table's", "G"}, kMostRanksPerNode,
        o.ranks_per_node);
  shape({"--rails", "networks; none: the table's", "R"}, kMostRails, o.rails);

  auto* trace = verb.add_option("--trace", o.replay.trace,
                                "the layers of a routing trace (docs/formats/trace.md)")
                    ->type_name("FILE");
  const auto figure = [&](const char* name, std::string& value, const char* text,
                          const char* type) {
    verb.add_option(name, value, text)->type_name(type)->excludes(trace);
  };
  figure("--bytes", o.bytes, "one phase: bytes that leave a node, per rank", "SIZE");
  figure("--rho", o.rail_skew, "its rail skew, a decimal or a fraction such as 4/3", "X");
  figure("--kappa", o.concentration, "its receiver concentration, likewise", "X");

  const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
    return verb.add_option(name, value, text)->type_name(type)->capture_default_str()->needs(trace);
  };
  const auto count = [&](const OptionText& text, WholeRange range, auto& value) {
    add_whole(verb, text, range, value)->needs(trace);
  };
  ReplayOptions& r = o.replay;
  count({"--experts", "experts of the trace; 0: the file says it", "E"}, {0, kMostExperts},
        r.experts);
  add("--routing", r.routing, "schedule: one expert a row; trace: the trace's own ids", "NAME")
      ->check(CLI::IsMember({"schedule", "trace"}));
  add("--schedule", r.schedule, "who sends to whom, in which windows", "NAME")
      ->check(CLI::IsMember({"ring", "moderate", "extreme", "all-at-once", "n-type", "r-type"}));
  add("--placement", r.placement, "order in which a layer's experts fill the bins", "NAME")
      ->check(CLI::IsMember({"sorted", "natural"}));
  add_real(verb,
           {"--payload-mib",
            "with --routing schedule: remote rows per rank; 0: as many as the trace has", "MIB"},
           {0, kMostPayloadMib}, r.payload_mib)
      ->needs(trace);
  count({"--layers", "layers, from the first; 0: all", "L"}, {0, kMostLayers}, r.layers);
  count({"--hidden", "elements of a row", "H"}, kFromOne, r.hidden);
  add("--dtype", r.dtype, "element type", "NAME")->check(CLI::IsMember({"bf16", "fp32"}));
  count({"--max-tokens", "with --routing trace: tokens per rank at most; 0: all", "T"}, kFromZero,
        r.max_tokens);
  for (const char* name : {"--schedule", "--placement", "--payload-mib", "--max-tokens"}) {
    note_given(verb.get_option(name), r);
  }

  add_whole(verb, {"--rejected", "how many of the nearest anchors out of reach to show", "N"},
            {0, 1'000'000}, o.rejected);
  verb.add_option("--json", o.json, "write the answers to a file")->type_name("FILE");
}

Result<Topology> topology_from(const SelectOptions& options, const select::ClusterShape& table) {
  if (!options.cluster.empty()) {
    const auto spec = testbed::read_cluster(options.cluster);
    if (!spec) return fail(spec.error());
    return Topology::create(testbed::topology_options(*spec));
  }
  Topology::Options shape{table.ranks_per_node, options.rails.value_or(table.rails)};
  // A further node is like the last one.
  if (options.nodes) {
    shape.ranks_per_node.resize(static_cast<std::size_t>(*options.nodes),
                                table.ranks_per_node.back());
  }
  if (options.ranks_per_node) {
    shape.ranks_per_node.assign(shape.ranks_per_node.size(), *options.ranks_per_node);
  }
  RAILWAVE_TRY(check_limits(shape));
  return Topology::create(std::move(shape));
}

}  // namespace railwave::cli
