#include <limits>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "base/text_file.hpp"
#include "json_place.hpp"
#include "select/cost_table_file.hpp"

namespace railwave::select {
namespace {

// A point with the times of four paths has 51 values.
constexpr JsonLimits kLimits{52 * std::size_t{kMostPoints}, 100, 8};
constexpr std::int64_t kMostRails = 65'536;

/// One of the four; the planners of others are never selected.
std::optional<Path> path_of(const std::string& name) {
  const auto path = path_from_string(name);
  return path && is_candidate(*path) ? path : std::nullopt;
}

Path read_path(const JsonPlace& place) {
  const auto path = path_of(place.text());
  if (!path) place.expected(kCandidates);
  return path.value_or(Path::Joint);
}

ClusterShape read_cluster(const JsonPlace& place) {
  place.expect_keys({"ranks_per_node", "rails"});
  ClusterShape shape;
  for (const JsonPlace& ranks : place.at("ranks_per_node").elements(kMostNodes)) {
    shape.ranks_per_node.push_back(
        static_cast<int>(ranks.integer(1, std::numeric_limits<int>::max())));
  }
  shape.rails = static_cast<int>(place.at("rails").integer(1, kMostRails));
  return shape;
}

PayloadUnit read_units(const JsonPlace& place) {
  place.expect_keys({"payload", "time"});
  if (place.at("time").text() != "s") place.at("time").expected("\"s\"");
  const std::string unit = place.at("payload").text();
  if (unit != "MiB" && unit != "B") place.at("payload").expected("\"MiB\" or \"B\"");
  return unit == "B" ? PayloadUnit::Byte : PayloadUnit::MiB;
}

Scales read_scales(const JsonPlace& place) {
  place.expect_keys({"payload_reference", "payload_factor", "rail_skew_divisor",
                     "receiver_concentration_divisor", "shape_radius"});
  return {place.at("payload_reference").decimal(), place.at("payload_factor").decimal(),
          place.at("rail_skew_divisor").decimal(),
          place.at("receiver_concentration_divisor").decimal(), place.at("shape_radius").decimal()};
}

TrafficPoint read_point(const JsonPlace& place) {
  return {place.at("payload").decimal(), place.at("rail_skew").decimal(),
          place.at("receiver_concentration").decimal()};
}

std::vector<PathTimes> read_times(const JsonPlace& place) {
  std::vector<PathTimes> out;
  if (!place.has("times")) return out;
  for (const auto& [name, times] : place.at("times").members()) {
    const auto path = path_of(name);
    if (!path) times.refuse(fmt::format("the key is none of {}", kCandidates));
    times.expect_keys({"samples", "p10", "p50", "p90"});
    out.push_back({path.value_or(Path::Joint),
                   times.at("samples").integer(1, std::numeric_limits<std::int64_t>::max()),
                   times.at("p10").seconds(), times.at("p50").seconds(),
                   times.at("p90").seconds()});
  }
  return out;
}

Anchor read_anchor(const JsonPlace& place) {
  place.expect_keys({"payload", "rail_skew", "receiver_concentration", "path"}, {"times", "note"});
  return {read_point(place), read_path(place.at("path")), read_times(place),
          place.has("note") ? place.at("note").text() : std::string{}};
}

RejectedPoint read_rejected(const JsonPlace& place) {
  place.expect_keys({"payload", "rail_skew", "receiver_concentration", "candidate", "reason"},
                    {"times"});
  return {read_point(place), read_path(place.at("candidate")), place.at("reason").text(),
          read_times(place)};
}

CostTable read_table(const JsonPlace& root) {
  root.expect_keys({"schema", "cluster", "units", "scales", "measured", "anchors", "rejected"});
  CostTable table;
  table.cluster = read_cluster(root.at("cluster"));
  table.unit = read_units(root.at("units"));
  table.scales = read_scales(root.at("scales"));
  const JsonPlace measured = root.at("measured");
  measured.expect_keys({"where", "how"});
  table.where = measured.at("where").text();
  table.how = measured.at("how").text();
  for (const JsonPlace& place : root.at("anchors").elements(kMostPoints)) {
    table.anchors.push_back(read_anchor(place));
  }
  for (const JsonPlace& place : root.at("rejected").elements(kMostPoints)) {
    table.rejected.push_back(read_rejected(place));
  }
  return table;
}

/// A table of another version is told so, not which of its keys this one does not know.
Status check_schema(const JsonPlace& root, const JsonPlace::Reading& reading) {
  if (!root.has("schema")) return {};
  const std::string schema = root.at("schema").text();
  if (schema == kCostTableSchema || reading.refusal) return {};
  return fail(ErrorCode::Unsupported, "/schema",
              fmt::format("{}: /schema: expected \"{}\", not \"{}\"", reading.name,
                          kCostTableSchema, shown(schema)));
}

}  // namespace

Result<CostTable> parse_cost_table(std::string_view text, std::string_view name) {
  if (text.size() > kMostTableBytes) {
    return fail(ErrorCode::InvalidArgument, "cost_table",
                fmt::format("{}: is {} bytes long; at most {} are read", name, text.size(),
                            kMostTableBytes));
  }
  const auto json = parse_json(text, name, kLimits);
  if (!json) return fail(json.error());
  JsonPlace::Reading reading{std::string(name)};
  const JsonPlace root(*json, "", reading);
  RAILWAVE_TRY(check_schema(root, reading));
  CostTable table = read_table(root);
  if (reading.refusal) return fail(*reading.refusal);
  if (const auto checked = check(table); !checked) {
    Error error = checked.error();
    error.message = fmt::format("{}: {}: {}", name, error.field, error.message);
    return fail(error);
  }
  return table;
}

Result<CostTable> read_cost_table(const std::string& path) {
  const auto text = read_text_file(path, "cost_table", kMostTableBytes);
  if (!text) return fail(text.error());
  return parse_cost_table(*text, path);
}

}  // namespace railwave::select
