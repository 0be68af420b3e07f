#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "select/cost_table_file.hpp"

namespace railwave::select {
namespace {

using Json = nlohmann::ordered_json;

Json scales_json(const Scales& scales) {
  return {{"payload_reference", scales.payload_reference.text()},
          {"payload_factor", scales.payload_factor.text()},
          {"rail_skew_divisor", scales.rail_skew_divisor.text()},
          {"receiver_concentration_divisor", scales.receiver_concentration_divisor.text()},
          {"shape_radius", scales.shape_radius.text()}};
}

Json point_json(const TrafficPoint& at) {
  return {{"payload", at.payload.text()},
          {"rail_skew", at.rail_skew.text()},
          {"receiver_concentration", at.receiver_concentration.text()}};
}

void add_times(Json& object, const std::vector<PathTimes>& all) {
  for (const PathTimes& times : all) {
    object["times"][std::string(to_string(times.path))] = {
        {"samples", times.samples}, {"p10", times.p10}, {"p50", times.p50}, {"p90", times.p90}};
  }
}

Json anchor_json(const Anchor& anchor) {
  Json out = point_json(anchor.at);
  out["path"] = to_string(anchor.path);
  add_times(out, anchor.times);
  if (!anchor.note.empty()) out["note"] = anchor.note;
  return out;
}

Json rejected_json(const RejectedPoint& point) {
  Json out = point_json(point.at);
  out["candidate"] = to_string(point.candidate);
  out["reason"] = point.reason;
  add_times(out, point.times);
  return out;
}

}  // namespace

Result<std::string> to_json(const CostTable& table) {
  RAILWAVE_TRY(check(table));
  Json out;
  out["schema"] = kCostTableSchema;
  out["cluster"] = {{"ranks_per_node", table.cluster.ranks_per_node},
                    {"rails", table.cluster.rails}};
  out["units"] = {{"payload", to_string(table.unit)}, {"time", "s"}};
  out["scales"] = scales_json(table.scales);
  out["measured"] = {{"where", table.where}, {"how", table.how}};
  out["anchors"] = Json::array();
  for (const Anchor& anchor : table.anchors) out["anchors"].push_back(anchor_json(anchor));
  out["rejected"] = Json::array();
  for (const RejectedPoint& point : table.rejected) out["rejected"].push_back(rejected_json(point));
  try {
    return out.dump(2) + '\n';
  } catch (const Json::exception& error) {
    return fail(ErrorCode::InvalidArgument, "cost_table", error.what());
  }
}

}  // namespace railwave::select
