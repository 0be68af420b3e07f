// railwave mode: should token rows or expert weights travel between nodes?
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strict_json.hpp"
#include "base/units.hpp"
#include "limits.hpp"
#include "mode_inputs.hpp"
#include "number_options.hpp"
#include "report/private_file.hpp"
#include "report/table.hpp"
#include "verb.hpp"

namespace railwave::cli {
namespace {

constexpr int kMostListedNodes = 65'536;

constexpr const char* kExamples = R"(
Compares what would cross into a node in a step of one MoE layer: token rows to the experts and back
(expert-centric) or expert weights to the tokens (data-centric). Prints both volumes, the answer and
the token count and expert count or size at which it flips. A tie, and one node, are expert-centric.

Formulas (docs/mode.md):
  bytes     the experts' real bytes, fetched once per node, against one row per token and remote
            node, there and back
  draft     as the IETF draft prints it; experts and tokens count as they are typed
  draft-h2  the draft's with the missing factor H, experts and tokens per worker

Exit status: 0; 2 for a value that is out of range or that no formula asked for looks at; 4 when the
output could not be written.

Examples:
  railwave mode
  railwave mode --tokens-per-worker 65536 --intermediate 512
  railwave mode --formula draft,draft-h2,bytes --experts 64 --hidden 2048 --top-k 6
  railwave mode --remote-nodes 2.73 --dispatch-dtype fp8_e4m3 --json mode.json
)";

struct Answer {
  plan::ModeFormula formula;
  plan::ModeDecision decision;
};

const char* per(plan::Amount value) {
  return value.per == plan::Per::Worker ? " per worker" : " in all";
}

std::string size(plan::Fraction bytes) {
  const plan::Wide whole = bytes.num / bytes.den;
  return whole <= static_cast<plan::Wide>(std::numeric_limits<std::int64_t>::max())
             ? format_size(static_cast<std::int64_t>(whole))
             : fmt::format("{:.4g} B", bytes.value());
}

std::string threshold(const std::optional<plan::Wide>& value) {
  return value ? plan::decimal(*value) : "-";
}

std::string header(const ModeOptions& o, const plan::ModeInputs& in, const Answer* bytes) {
  std::string out =
      report::comment(fmt::format("cluster      {} nodes x {} workers", o.nodes, o.ranks_per_node));
  out +=
      report::comment(fmt::format("model        hidden {}, {} experts{}, top-{}", in.model.hidden,
                                  in.model.experts.value, per(in.model.experts), o.top_k));
  out += report::comment(
      fmt::format("load         {} tokens{}", in.load.tokens.value, per(in.load.tokens)));
  if (bytes == nullptr) return out;
  return out + report::comment(fmt::format(
                   "bytes        an expert {}, a row {} B there and {} B back, {:.3f} remote nodes "
                   "a token ({})",
                   format_size(in.model.expert_bytes), in.model.dispatch_row_bytes,
                   in.model.return_row_bytes, bytes->decision.remote_nodes.value(),
                   in.load.remote_nodes ? "given" : "even routing"));
}

std::string sentence(const plan::ModeInputs& in, const Answer& answer) {
  const auto& d = answer.decision;
  const auto from = d.tokens_from ? fmt::format("data-centric from {} tokens{} on",
                                                plan::decimal(*d.tokens_from), per(in.load.tokens))
                                  : std::string("expert-centric for any number of tokens");
  std::string limit;
  if (d.experts_to) {
    limit = fmt::format("; with these tokens data-centric up to {} experts{}",
                        plan::decimal(*d.experts_to), per(in.model.experts));
  } else if (d.expert_bytes_to) {
    limit = fmt::format("; with these tokens data-centric up to {} bytes an expert",
                        plan::decimal(*d.expert_bytes_to));
  }
  return fmt::format("{}: {}; {}{}", to_string(answer.formula), to_string(d.mode), from, limit);
}

std::string table_of(const plan::ModeInputs& in, const std::vector<Answer>& answers) {
  report::Table table({{"formula", "", report::Align::Left},
                       {"expert size"},
                       {"data size"},
                       {"data-centric", "into a node"},
                       {"expert-centric", "into a node"},
                       {"tokens from"},
                       {"answer", "", report::Align::Left}});
  for (const Answer& answer : answers) {
    const auto& d = answer.decision;
    table.add_row({std::string(to_string(answer.formula)), size(d.expert_size), size(d.data_size),
                   size(d.data_centric), size(d.expert_centric), threshold(d.tokens_from),
                   std::string(to_string(d.mode))});
  }
  std::string out = table.text();
  for (const Answer& answer : answers) out += report::comment(sentence(in, answer));
  return out;
}

nlohmann::ordered_json amount_json(plan::Amount value) {
  return {{"value", value.value}, {"per", value.per == plan::Per::Worker ? "worker" : "total"}};
}

nlohmann::ordered_json answer_json(const Answer& answer) {
  const auto& d = answer.decision;
  nlohmann::ordered_json out;
  out["formula"] = to_string(answer.formula);
  out["mode"] = to_string(d.mode);
  out["expert_size_bytes"] = plan::decimal(d.expert_size);
  out["data_size_bytes"] = plan::decimal(d.data_size);
  out["data_centric_bytes"] = plan::decimal(d.data_centric);
  out["expert_centric_bytes"] = plan::decimal(d.expert_centric);
  if (answer.formula == plan::ModeFormula::Bytes) out["remote_nodes"] = d.remote_nodes.value();
  if (d.tokens_from) out["tokens_from"] = plan::decimal(*d.tokens_from);
  if (d.experts_to) out["experts_to"] = plan::decimal(*d.experts_to);
  if (d.expert_bytes_to) out["expert_bytes_to"] = plan::decimal(*d.expert_bytes_to);
  return out;
}

std::string json_of(const ModeOptions& o, const plan::ModeInputs& in,
                    const std::vector<Answer>& answers) {
  nlohmann::ordered_json out;
  out["schema"] = "railwave.mode/1";
  out["cluster"] = {
      {"nodes", o.nodes},
      {"ranks_per_node", std::vector<int>(static_cast<std::size_t>(o.nodes), o.ranks_per_node)}};
  out["model"] = {{"hidden", in.model.hidden},
                  {"experts", amount_json(in.model.experts)},
                  {"top_k", in.model.top_k}};
  if (uses_bytes(o)) {
    out["model"]["expert_bytes"] = in.model.expert_bytes;
    out["model"]["dispatch_row_bytes"] = in.model.dispatch_row_bytes;
    out["model"]["return_row_bytes"] = in.model.return_row_bytes;
  }
  out["tokens"] = amount_json(in.load.tokens);
  out["answers"] = nlohmann::ordered_json::array();
  for (const Answer& answer : answers) out["answers"].push_back(answer_json(answer));
  return json_text(out);
}

int run(const ModeOptions& o) {
  const auto in = mode_inputs(o);
  if (!in) return report(in.error());
  std::vector<Answer> answers;
  const Answer* bytes = nullptr;
  answers.reserve(o.formulas.size());
  for (const std::string& name : o.formulas) {
    const auto formula = *plan::mode_formula_from_string(name);
    const auto decision = plan::select_mode(formula, *in);
    if (!decision) return report(decision.error());
    answers.push_back({formula, *decision});
    if (formula == plan::ModeFormula::Bytes) bytes = &answers.back();
  }
  fmt::print("{}{}", header(o, *in, bytes), table_of(*in, answers));
  if (o.json.empty()) return 0;
  if (o.nodes > kMostListedNodes) {
    return report(
        {ErrorCode::InvalidArgument, -1, "--json",
         fmt::format("lists the ranks of every node, {} nodes at most", kMostListedNodes)});
  }
  const auto written = report::write_private_file(o.json, json_of(o, *in, answers));
  return written ? 0 : report(written.error());
}

}  // namespace

void add_mode(CLI::App& app, Invocation& invocation) {
  auto* verb = app.add_subcommand("mode", "Move token rows or expert weights? The draft's choice");
  verb->footer(kExamples);
  const auto o = std::make_shared<ModeOptions>();
  const auto add = [&](const char* name, auto& value, const char* text, const char* type) {
    return verb->add_option(name, value, text)->type_name(type)->capture_default_str();
  };
  add("--formula", o->formulas, "formulas, separated by commas", "NAMES")
      ->delimiter(',')
      ->check(CLI::IsMember({"draft", "draft-h2", "bytes"}));
  const auto count = [&](const OptionText& text, WholeRange range, auto& value) {
    return add_whole(*verb, text, range, value);
  };
  constexpr WholeRange kInt{1, std::numeric_limits<std::int32_t>::max()};
  count({"--nodes", "nodes, n", "N"}, kInt, o->nodes);
  count({"--ranks-per-node", "workers of each, m", "G"}, kInt, o->ranks_per_node);
  count({"--hidden", "elements of a row", "H"}, kFromOne, o->hidden);
  auto* experts = count({"--experts", "of the layer, in all (256)", "E"}, kFromOne, o->experts);
  count({"--experts-per-worker", "of the layer, on each worker", "E"}, kFromOne,
        o->experts_per_worker)
      ->excludes(experts);
  count({"--top-k", "experts of a token", "K"}, {1, kMostExperts}, o->top_k);
  auto* tokens = count({"--tokens", "of a step, in all", "T"}, kFromZero, o->tokens);
  count({"--tokens-per-worker", "of a step, on each worker (4096)", "T"}, kFromZero,
        o->tokens_per_worker)
      ->excludes(tokens);
  std::vector<CLI::Option*> of_bytes;
  of_bytes.push_back(add("--expert-bytes", o->expert_bytes, "bytes: weights of an expert", "SIZE"));
  of_bytes.push_back(
      count({"--intermediate", "bytes: or 3 H I weights", "I"}, kFromOne, o->intermediate)
          ->excludes(of_bytes.front()));
  const auto dtype = [&](const char* name, std::string& value, const char* text) {
    of_bytes.push_back(
        add(name, value, text, "NAME")->check(CLI::IsMember({"bf16", "fp16", "fp32", "fp8_e4m3"})));
  };
  dtype("--weight-dtype", o->weight_dtype, "bytes: of 3 H I weights");
  dtype("--dispatch-dtype", o->dispatch_dtype, "bytes: of rows there; fp8 with scales");
  dtype("--return-dtype", o->return_dtype, "bytes: of rows back");
  of_bytes.push_back(add("--remote-nodes", o->remote_nodes,
                         "bytes: other nodes that a token reaches, on average", "X"));
  add("--json", o->json, "write the answers (docs/mode.md)", "FILE");
  verb->callback([&invocation, o, of_bytes] {
    for (const CLI::Option* option : of_bytes) {
      if (option->count() > 0) o->given_for_bytes = option->get_name();
    }
    invocation.run = [o] { return run(*o); };
  });
}

}  // namespace railwave::cli
