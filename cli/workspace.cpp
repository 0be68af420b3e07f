// railwave workspace: the memory that communication, or replicated experts instead of it, takes.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strict_json.hpp"
#include "limits.hpp"
#include "number_options.hpp"
#include "report/private_file.hpp"
#include "report/table.hpp"
#include "verb.hpp"
#include "workspace_sizes.hpp"

namespace railwave::cli {
namespace {

constexpr const char* kExamples = R"(
Says what a rank reserves, by three formulas: the paper's RailBalance workspace (eq. 13), the
replicated experts that it replaces (eq. 14, Table 7), and what this library reserves
(docs/workspace.md). Without options it is the paper's set-up.

Exit status: 0; 2 for a value that is out of range or a size that does not fit into 64 bits; 4 when
the output could not be written.

Examples:
  railwave workspace
  railwave workspace --tokens 4096 --max-recv-rows 8192
  railwave workspace --nodes 16 --replicas 1,2,4,8 --json workspace.json
)";

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.3f}", static_cast<double>(bytes) / (1 << 30));
}

std::string table_of(const WorkspaceOptions& o, const WorkspaceSizes& sizes) {
  std::string out = report::comment(
      fmt::format("cluster      {} nodes x {} ranks, {} rails; {} tokens a rank, hidden {} {}",
                  o.nodes, o.ranks_per_node, o.rails, o.tokens, o.hidden, o.dtype));
  out += report::comment(
      fmt::format("experts      {} layers, {} parameters an expert, {} B a weight, {} B a gradient",
                  o.layers, sizes.parameters, o.weight_bytes, o.gradient_bytes));
  out += report::comment(
      "per rank, in GiB; r: replicated experts a layer (eq. 14), RailBalance: eq. 13");
  report::Table table({{"r", ""},
                       {"inference", "GiB"},
                       {"train, 1-layer grad", "GiB"},
                       {"train, all grads", "GiB"},
                       {"RailBalance", "GiB"}});
  for (std::size_t i = 0; i < o.replicas.size(); ++i) {
    const auto& row = sizes.replicas[i];
    table.add_row({fmt::format("{}", o.replicas[i]), gib(row.inference), gib(row.train_one_layer),
                   gib(row.train_all), gib(sizes.balance)});
  }
  out += table.text();
  const auto line = [](const char* name, std::int64_t bytes) {
    return report::comment(fmt::format("{:<22}{:>16} bytes  {:>9} GiB", name, bytes, gib(bytes)));
  };
  out += line("RailBalance, eq. 13", sizes.balance);
  out += line("this library", sizes.library.segment + sizes.library.send_slots);
  out += line("  segment", sizes.library.segment);
  out += line("  send slots", sizes.library.send_slots);
  if (o.max_recv_rows == 0) {
    out += report::comment(
        "segment: every token of every rank could come here; --max-recv-rows says what your "
        "routing "
        "can bring");
  }
  return out;
}

std::string json_of(const WorkspaceOptions& o, const WorkspaceSizes& sizes) {
  nlohmann::ordered_json out;
  out["schema"] = "railwave.workspace/1";
  out["cluster"] = {
      {"nodes", o.nodes},
      {"ranks_per_node", std::vector<int>(static_cast<std::size_t>(o.nodes), o.ranks_per_node)},
      {"rails", o.rails}};
  out["tokens_per_rank"] = o.tokens;
  out["hidden"] = o.hidden;
  out["dtype"] = o.dtype;
  out["rail_balance"] = {{"channels", o.channels},
                         {"dispatch_record_bytes", sizes.shape.dispatch_record_bytes},
                         {"return_record_bytes", sizes.shape.return_record_bytes},
                         {"bytes", sizes.balance}};
  auto rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < o.replicas.size(); ++i) {
    const auto& row = sizes.replicas[i];
    rows.push_back({{"replicas", o.replicas[i]},
                    {"inference_bytes", row.inference},
                    {"train_one_layer_bytes", row.train_one_layer},
                    {"train_all_bytes", row.train_all}});
  }
  out["replicated_experts"] = {{"layers", o.layers},
                               {"parameters", sizes.parameters},
                               {"weight_bytes", o.weight_bytes},
                               {"gradient_bytes", o.gradient_bytes},
                               {"sizes", rows}};
  out["library"] = {{"max_recv_rows", o.max_recv_rows},
                    {"top_k", o.top_k},
                    {"phases_in_flight", o.phases},
                    {"segment_bytes", sizes.library.segment},
                    {"send_slots_bytes", sizes.library.send_slots}};
  return json_text(out);
}

int run(const WorkspaceOptions& options) {
  const auto sizes = workspace_sizes(options);
  if (!sizes) return report(sizes.error());
  fmt::print("{}", table_of(options, *sizes));
  if (options.json.empty()) return 0;
  const auto written = report::write_private_file(options.json, json_of(options, *sizes));
  return written ? 0 : report(written.error());
}

}  // namespace

void add_workspace(CLI::App& app, Invocation& invocation) {
  auto* verb = app.add_subcommand("workspace", "Memory of a rank: the paper's formulas and ours");
  verb->footer(kExamples);
  const auto o = std::make_shared<WorkspaceOptions>();
  const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
    return verb->add_option(name, value, text)->type_name(type)->capture_default_str();
  };
  const auto count = [&](const OptionText& text, WholeRange range, auto& value) {
    add_whole(*verb, text, range, value);
  };
  count({"--nodes", "nodes, D", "D"}, {1, kMostNodes}, o->nodes);
  count({"--ranks-per-node", "ranks of each, G", "G"}, {1, kMostRanksPerNode}, o->ranks_per_node);
  count({"--rails", "this library: rails of a node", "R"}, {1, kMostRails}, o->rails);
  count({"--tokens", "most tokens of a rank in a step, T", "T"}, kFromOne, o->tokens);
  count({"--hidden", "elements of a row", "H"}, kFromOne, o->hidden);
  add("--dtype", o->dtype, "element type of a row", "NAME")->check(CLI::IsMember({"bf16", "fp32"}));
  count({"--channels", "eq. 13: reserved channels, C", "C"}, kFromOne, o->channels);
  count({"--dispatch-record", "eq. 13: s_d; none: a row and 32 bytes", "BYTES"}, kFromOne,
        o->dispatch_record);
  count({"--return-record", "eq. 13: s_c; none: a row and 32 bytes", "BYTES"}, kFromOne,
        o->return_record);
  add_whole_list(*verb, {"--replicas", "eq. 14: more experts a rank, separated by commas", "LIST"},
                 kFromOne, o->replicas);
  count({"--layers", "eq. 14: MoE layers, L", "L"}, {1, kMostLayers}, o->layers);
  count({"--intermediate", "eq. 14: an expert has 3 H I parameters", "I"}, kFromOne,
        o->intermediate);
  count({"--weight-bytes", "eq. 14: bytes of a weight, w", "BYTES"}, {1, 1'024}, o->weight_bytes);
  count({"--gradient-bytes", "bytes of a replica's gradient, g", "BYTES"}, {0, 1'024},
        o->gradient_bytes);
  count({"--top-k", "this library: experts of a token", "K"}, {1, kMostExperts}, o->top_k);
  count({"--max-recv-rows", "this library: rows that may come; 0: all tokens", "M"}, kFromZero,
        o->max_recv_rows);
  add("--chunk", o->chunk, "this library: largest frame", "SIZE");
  count({"--slots", "this library: frames in flight per rail", "N"}, {1, 1 << 20}, o->slots);
  count({"--phases", "this library: phases that may be under way at once", "N"}, {1, 1 << 20},
        o->phases);
  add("--json", o->json, "write the sizes (docs/workspace.md)", "FILE");
  verb->callback([&invocation, o] { invocation.run = [o] { return run(*o); }; });
}

}  // namespace railwave::cli
