// The phases that `railwave select` is asked about: typed figures or a trace's layers.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "replay_workload.hpp"
#include "select/decimal.hpp"
#include "select_options.hpp"

namespace railwave::cli {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

/// "1.4" or "4/3", exactly.
std::optional<Ratio> exact(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) {
    const auto decimal = select::Decimal::parse(text);
    return decimal ? std::optional(decimal->ratio()) : std::nullopt;
  }
  const auto num = whole(text.substr(0, slash));
  const auto den = whole(text.substr(slash + 1));
  if (!num || !den) return std::nullopt;
  const std::int64_t divisor = std::gcd(*num, *den);
  return Ratio{*num / divisor, *den / divisor};
}

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
  const auto number = exact(text.substr(0, letters));
  if (found != kUnits.end() && number) {
    const std::int64_t scale = std::int64_t{1} << found->second;
    const std::int64_t divisor = std::gcd(scale, number->den);
    const auto num = checked_mul(number->num, scale / divisor);
    if (num) return Ratio{*num, number->den / divisor};
  }
  return fail(ErrorCode::InvalidArgument, "--bytes",
              fmt::format("'{}' is not understood; write it like 8.75mib, with at most 6 digits "
                          "after the point",
                          text));
}

Result<Ratio> skew(const std::string& text, const char* option) {
  const auto value = exact(text);
  if (value && value->num >= value->den) return *value;
  return fail(
      ErrorCode::InvalidArgument, option,
      fmt::format("'{}' is not understood; write a number of at least 1, like 1.4 or 4/3", text));
}

Result<std::vector<SelectPhase>> typed_phase(const SelectOptions& options) {
  const auto payload = exact_size(options.bytes);
  if (!payload) return fail(payload.error());
  SelectPhase phase{std::nullopt, {*payload, {}, {}, 0}};
  if (payload->num == 0) return std::vector{phase};
  const auto rail_skew = skew(options.rail_skew, "--rho");
  if (!rail_skew) return fail(rail_skew.error());
  const auto concentration = skew(options.concentration, "--kappa");
  if (!concentration) return fail(concentration.error());
  phase.descriptors.rail_skew = *rail_skew;
  phase.descriptors.receiver_concentration = *concentration;
  return std::vector{phase};
}

Result<std::vector<SelectPhase>> trace_phases(const ReplayOptions& options,
                                              const Topology& topology) {
  const auto request = understand(options);
  if (!request) return fail(request.error());
  const auto work = make_workload(options, *request, topology);
  if (!work) return fail(work.error());
  std::vector<SelectPhase> phases;
  for (std::size_t l = 0; l < work->layers.size(); ++l) {
    const ReplayLayer& layer = work->layers[l];
    auto descriptors = describe(layer.counts, layer.windows,
                                options.hidden * element_bytes(request->dtype), topology.ranks());
    if (!descriptors) return fail(descriptors.error());
    phases.push_back({static_cast<int>(l), *std::move(descriptors)});
  }
  return phases;
}

}  // namespace

Result<std::vector<SelectPhase>> phases_from(const SelectOptions& options,
                                             const Topology& topology) {
  if (!options.replay.trace.empty()) return trace_phases(options.replay, topology);
  if (!options.bytes.empty()) return typed_phase(options);
  return fail(ErrorCode::InvalidArgument, "command",
              "say which phase: --bytes with --rho and --kappa, or --trace; see railwave select "
              "--help");
}

}  // namespace railwave::cli
