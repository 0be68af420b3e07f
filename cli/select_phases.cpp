// The phases that `railwave select` is asked about: typed figures or a trace's layers.
#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "exact_number.hpp"
#include "plan/wide.hpp"
#include "select_options.hpp"
#include "trace_phases.hpp"

namespace railwave::cli {
namespace {

/// "8.75mib" exactly, where parse_size() gives the nearest byte.
Result<Ratio> exact_size(const std::string& text) {
  const auto letters = static_cast<std::size_t>(
      std::find_if(text.begin(), text.end(), [](unsigned char c) { return std::isalpha(c) != 0; }) -
      text.begin());
  std::string unit = text.substr(letters);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::pair<std::string_view, int>, 8> kUnits{{{"", 0},
                                                                    {"b", 0},
                                                                    {"kb", 10},
                                                                    {"kib", 10},
                                                                    {"mb", 20},
                                                                    {"mib", 20},
                                                                    {"gb", 30},
                                                                    {"gib", 30}}};
  const auto* const found = std::find_if(kUnits.begin(), kUnits.end(),
                                         [&](const auto& known) { return known.first == unit; });
  const auto number = exact_number(text.substr(0, letters));
  if (found != kUnits.end() && number) {
    const std::int64_t scale = std::int64_t{1} << found->second;
    const std::int64_t divisor = std::gcd(scale, number->den);
    const auto num = checked_mul(number->num, scale / divisor);
    if (num) return Ratio{*num, number->den / divisor};
  }
  return fail(ErrorCode::InvalidArgument, "--bytes",
              fmt::format("'{}' is not understood; write {}, with a unit like mib or none", text,
                          kExactNumber));
}

/// A figure that a phase on the cluster can have: 1 to `most`.
struct SkewOption {
  const char* name;
  const std::string& text;
  std::int64_t most;
  const char* bound;  ///< what `most` is
};

Result<Ratio> skew(const SkewOption& option) {
  if (option.text.empty()) {
    return fail(ErrorCode::InvalidArgument, option.name,
                "is missing; a phase is given by --bytes, --rho and --kappa");
  }
  const auto value = exact_number(option.text);
  if (!value) {
    return fail(ErrorCode::InvalidArgument, option.name,
                fmt::format("'{}' is not understood; write {}", option.text, kExactNumber));
  }
  const plan::Wide num = static_cast<plan::Wide>(value->num);
  const plan::Wide den = static_cast<plan::Wide>(value->den);
  if (num >= den && num <= den * static_cast<plan::Wide>(option.most)) return *value;
  return fail(
      ErrorCode::InvalidArgument, option.name,
      fmt::format("{} can not be: expected 1 to {}, {}", option.text, option.most, option.bound));
}

Result<std::vector<SelectPhase>> typed_phase(const SelectOptions& options,
                                             const Topology& topology) {
  const auto payload = exact_size(options.bytes);
  if (!payload) return fail(payload.error());
  SelectPhase phase{std::nullopt, {*payload, {}, {}, 0}};
  if (payload->num == 0) return std::vector{phase};
  if (topology.nodes() == 1) {
    return fail(ErrorCode::InvalidArgument, "--bytes",
                fmt::format("{} can not be: on a cluster of one node no byte leaves a node",
                            options.bytes));
  }
  const auto rail_skew =
      skew({"--rho", options.rail_skew, std::int64_t{topology.nodes()} * topology.rails(),
            "the rails of all nodes"});
  if (!rail_skew) return fail(rail_skew.error());
  const auto concentration =
      skew({"--kappa", options.concentration, topology.nodes(), "the nodes"});
  if (!concentration) return fail(concentration.error());
  phase.descriptors.rail_skew = *rail_skew;
  phase.descriptors.receiver_concentration = *concentration;
  return std::vector{phase};
}

Result<std::vector<SelectPhase>> trace_phases(const ReplayOptions& options,
                                              const Topology& topology) {
  const auto request = understand(options);
  if (!request) return fail(request.error());
  const auto source = TracePhases::open(options, *request, topology);
  if (!source) return fail(source.error());
  std::vector<SelectPhase> phases;
  for (int l = 0; l < source->layers(); ++l) {
    const auto sent = source->counts(l);
    if (!sent) return fail(sent.error());
    auto descriptors = describe(sent->counts, sent->windows, source->row_bytes(), topology.ranks());
    if (!descriptors) return fail(descriptors.error());
    phases.push_back({l, *std::move(descriptors)});
  }
  return phases;
}

}  // namespace

Result<std::vector<SelectPhase>> phases_from(const SelectOptions& options,
                                             const Topology& topology) {
  if (!options.replay.trace.empty()) return trace_phases(options.replay, topology);
  if (!options.bytes.empty()) return typed_phase(options, topology);
  return fail(ErrorCode::InvalidArgument, "command",
              "say which phase: --bytes with --rho and --kappa, or --trace; see railwave select "
              "--help");
}

}  // namespace railwave::cli
