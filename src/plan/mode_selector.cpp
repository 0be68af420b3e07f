#include "plan/mode_selector.hpp"

#include <string_view>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::plan {
namespace {

ModeInputs inputs_of(std::int64_t nodes, std::int64_t ranks, const ModeModel& model,
                     const ModeLoad& load) {
  return {nodes, ranks, model, load};
}

std::string amount(Amount value) {
  return fmt::format("{}{}", value.value, value.per == Per::Worker ? " per worker" : "");
}

std::vector<std::string> differences(const ModeModel& was, const ModeModel& is) {
  std::vector<std::string> out;
  const auto compare = [&](std::string_view name, std::int64_t a, std::int64_t b) {
    if (a != b) out.push_back(fmt::format("{} {} -> {}", name, a, b));
  };
  compare("hidden", was.hidden, is.hidden);
  if (was.experts != is.experts) {
    out.push_back(fmt::format("experts {} -> {}", amount(was.experts), amount(is.experts)));
  }
  compare("top_k", was.top_k, is.top_k);
  compare("expert_bytes", was.expert_bytes, is.expert_bytes);
  compare("dispatch_row_bytes", was.dispatch_row_bytes, is.dispatch_row_bytes);
  compare("return_row_bytes", was.return_row_bytes, is.return_row_bytes);
  return out;
}

}  // namespace

std::vector<Reevaluation> ModeSelector::triggers(const Topology& topology, const ModeModel& model,
                                                 const ModeLoad& load) const {
  if (!basis_) return {{ReevaluationTrigger::Initialisation, "no mode has been selected yet"}};
  std::vector<Reevaluation> out;
  const auto topology_changed = [&](std::string reason) {
    out.push_back({ReevaluationTrigger::TopologyChange, std::move(reason)});
  };
  if (topology.nodes() != basis_->nodes) {
    topology_changed(fmt::format("nodes {} -> {}", basis_->nodes, topology.nodes()));
  }
  if (topology.ranks() != basis_->ranks) {
    topology_changed(fmt::format("ranks {} -> {}", basis_->ranks, topology.ranks()));
  }
  if (out.empty() && topology.fingerprint() != basis_->topology) {
    topology_changed("ranks of the nodes, rails, their wiring or which of them are up");
  }
  for (std::string& reason : differences(basis_->model, model)) {
    out.push_back({ReevaluationTrigger::ModelChange, std::move(reason)});
  }
  if (!out.empty()) return out;
  const auto now =
      select_mode(formula_, inputs_of(basis_->nodes, basis_->ranks, basis_->model, load));
  if (!now) {
    out.push_back({ReevaluationTrigger::ModelChange, now.error().message});
  } else if (now->mode != basis_->answer.mode) {
    out.push_back({ReevaluationTrigger::ModelChange,
                   fmt::format("tokens {}: {} -> {}", amount(load.tokens),
                               to_string(basis_->answer.mode), to_string(now->mode))});
  }
  return out;
}

Result<ModeDecision> ModeSelector::select(const Topology& topology, const ModeModel& model,
                                          const ModeLoad& load) {
  auto answer = select_mode(formula_, inputs_of(topology.nodes(), topology.ranks(), model, load));
  if (!answer) return fail(answer.error());
  basis_ = Basis{topology.nodes(), topology.ranks(), topology.fingerprint(), model, *answer};
  return *answer;
}

std::optional<ModeDecision> ModeSelector::last() const {
  return basis_ ? std::optional(basis_->answer) : std::nullopt;
}

}  // namespace railwave::plan
