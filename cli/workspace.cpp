// railwave workspace: the memory that communication, or replicated experts instead of it, takes.
#include "plan/workspace.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <railwave/communicator.hpp>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/units.hpp"
#include "dtype_option.hpp"
#include "report/private_file.hpp"
#include "report/table.hpp"
#include "verb.hpp"

namespace railwave::cli {
namespace {

constexpr const char* kExamples = R"(
Says what a rank reserves, by three formulas: the paper's RailBalance workspace (eq. 13), the
replicated experts that it replaces (eq. 14, Table 7), and what this library reserves
(docs/workspace.md). Without options it is the paper's set-up.

Exit status: 0; 2 for a value that is out of range or a size that does not fit into 64 bits.

Examples:
  railwave workspace
  railwave workspace --tokens 4096 --max-recv-rows 8192
  railwave workspace --nodes 16 --replicas 1,2,4,8 --json workspace.json
)";

struct WorkspaceOptions {
  int nodes = 4;
  int ranks_per_node = 8;
  int rails = 8;
  std::int64_t tokens = 50'176;
  std::int64_t hidden = 7'168;
  std::string dtype = "bf16";
  int top_k = 8;
  std::int64_t max_recv_rows = 0;
  std::int64_t channels = 1'024;
  std::optional<std::int64_t> dispatch_record;
  std::optional<std::int64_t> return_record;
  std::vector<std::int64_t> replicas{1, 2, 4};
  std::int64_t layers = 58;
  std::int64_t intermediate = 2'048;
  std::int64_t weight_bytes = 2;
  std::int64_t gradient_bytes = 4;
  std::string chunk = "64kb";
  int slots = 4;
  std::string json;
};

struct Sizes {
  plan::BalanceShape shape;
  std::int64_t balance = 0;                    // eq. 13
  std::int64_t parameters = 0;                 // of one expert
  std::vector<plan::ReplicaStorage> replicas;  // eq. 14, one per --replicas
  WorkspaceSize library;                       // docs/workspace.md
};

Result<std::int64_t> record_bytes(const WorkspaceOptions& o,
                                  const std::optional<std::int64_t>& given) {
  if (given) return *given;
  const auto row = checked_mul(o.hidden, element_bytes(dtype_named(o.dtype)));
  const auto record = row ? checked_add(*row, 32) : std::nullopt;
  if (record) return *record;
  return fail(ErrorCode::InvalidArgument, "--hidden", "a record does not fit into 64 bits");
}

Result<std::int64_t> expert_parameters(const WorkspaceOptions& o) {
  const auto matrix = checked_mul(o.hidden, o.intermediate);
  const auto expert = matrix ? checked_mul(*matrix, 3) : std::nullopt;
  if (expert) return *expert;
  return fail(ErrorCode::InvalidArgument, "--intermediate",
              "the parameters of an expert do not fit into 64 bits");
}

Result<WorkspaceSize> library_size(const WorkspaceOptions& o) {
  const auto topology = Topology::uniform(o.nodes, o.ranks_per_node, o.rails);
  if (!topology) return fail(topology.error());
  const auto chunk = parse_size(o.chunk, "--chunk");
  if (!chunk) return fail(chunk.error());
  CommunicatorOptions options;
  options.max_tokens_per_rank = o.tokens;
  options.max_recv_rows = o.max_recv_rows;
  options.max_hidden = o.hidden;
  options.widest_dtype = dtype_named(o.dtype);
  options.max_top_k = o.top_k;
  options.chunk_bytes = *chunk;
  options.send_slots = o.slots;
  return workspace_size(*topology, options);
}

Result<Sizes> sizes_of(const WorkspaceOptions& o) {
  Sizes sizes;
  const auto dispatch = record_bytes(o, o.dispatch_record);
  if (!dispatch) return fail(dispatch.error());
  const auto back = record_bytes(o, o.return_record);
  if (!back) return fail(back.error());
  sizes.shape = {o.nodes, o.ranks_per_node, o.tokens, o.channels, *dispatch, *back};
  const auto balance = plan::balance_workspace(sizes.shape);
  if (!balance) return fail(balance.error());
  sizes.balance = *balance;
  const auto parameters = expert_parameters(o);
  if (!parameters) return fail(parameters.error());
  sizes.parameters = *parameters;
  for (const std::int64_t replicas : o.replicas) {
    const auto storage =
        plan::replica_storage({o.layers, replicas, *parameters, o.weight_bytes, o.gradient_bytes});
    if (!storage) return fail(storage.error());
    sizes.replicas.push_back(*storage);
  }
  const auto library = library_size(o);
  if (!library) return fail(library.error());
  sizes.library = *library;
  return sizes;
}

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.3f}", static_cast<double>(bytes) / (1 << 30));
}

std::string table_of(const WorkspaceOptions& o, const Sizes& sizes) {
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

std::string json_of(const WorkspaceOptions& o, const Sizes& sizes) {
  nlohmann::ordered_json out;
  out["schema"] = "railwave.workspace/1";
  out["cluster"] = {{"nodes", o.nodes}, {"ranks_per_node", o.ranks_per_node}, {"rails", o.rails}};
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
                    {"segment_bytes", sizes.library.segment},
                    {"send_slots_bytes", sizes.library.send_slots}};
  return out.dump(2) + "\n";
}

int run(const WorkspaceOptions& options) {
  const auto sizes = sizes_of(options);
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
  const auto add = [&](const char* name, auto& value, const char* text, const char* type) {
    return verb->add_option(name, value, text)->type_name(type)->capture_default_str();
  };
  add("--nodes", o->nodes, "nodes, D", "D");
  add("--ranks-per-node", o->ranks_per_node, "ranks of each, G", "G");
  add("--rails", o->rails, "this library: rails of a node", "R");
  add("--tokens", o->tokens, "most tokens of a rank in a step, T", "T");
  add("--hidden", o->hidden, "elements of a row", "H");
  add("--dtype", o->dtype, "element type of a row", "NAME")->check(CLI::IsMember({"bf16", "fp32"}));
  add("--channels", o->channels, "eq. 13: reserved channels, C", "C");
  add("--dispatch-record", o->dispatch_record, "eq. 13: s_d; none: a row and 32 bytes", "BYTES");
  add("--return-record", o->return_record, "eq. 13: s_c; none: a row and 32 bytes", "BYTES");
  add("--replicas", o->replicas, "eq. 14: more experts a rank, separated by commas", "LIST")
      ->delimiter(',');
  add("--layers", o->layers, "eq. 14: MoE layers, L", "L");
  add("--intermediate", o->intermediate, "eq. 14: an expert has 3 H I parameters", "I");
  add("--weight-bytes", o->weight_bytes, "eq. 14: bytes of a weight, w", "BYTES");
  add("--gradient-bytes", o->gradient_bytes, "bytes of a replica's gradient, g", "BYTES");
  add("--top-k", o->top_k, "this library: experts of a token", "K");
  add("--max-recv-rows", o->max_recv_rows, "this library: rows that may come; 0: all tokens", "M");
  add("--chunk", o->chunk, "this library: largest frame", "SIZE");
  add("--slots", o->slots, "this library: frames in flight per rail", "N");
  add("--json", o->json, "write the sizes (docs/workspace.md)", "FILE");
  verb->callback([&invocation, o] { invocation.run = [o] { return run(*o); }; });
}

}  // namespace railwave::cli
