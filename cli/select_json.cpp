#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strict_json.hpp"
#include "select_report.hpp"

namespace railwave::cli {
namespace {

using Json = nlohmann::ordered_json;

Json shape_json(const select::ClusterShape& cluster) {
  return {{"ranks_per_node", cluster.ranks_per_node}, {"rails", cluster.rails}};
}

/// The fraction as it decides, and a number for those who only look.
Json ratio_json(const Ratio& value) {
  return {{"exact", fmt::format("{}/{}", value.num, value.den)}, {"value", value.value()}};
}

Json offset_json(const select::Offset& offset, const char* measure) {
  return {{"coordinate", offset.coordinate},
          {"radius", offset.radius},
          {measure, offset.measure},
          {"inside", offset.inside}};
}

Json neighbour_json(const select::Neighbour& n, const select::CostTable& table) {
  const select::Anchor& anchor = table.anchors[static_cast<std::size_t>(n.anchor)];
  return {{"anchor", n.anchor},
          {"path", to_string(anchor.path)},
          {"at",
           {{"payload", anchor.at.payload.text()},
            {"rail_skew", anchor.at.rail_skew.text()},
            {"receiver_concentration", anchor.at.receiver_concentration.text()}}},
          {"distance", n.distance},
          {"payload", offset_json(n.payload, "ratio")},
          {"rail_skew", offset_json(n.rail_skew, "difference")},
          {"receiver_concentration", offset_json(n.receiver_concentration, "difference")}};
}

Json neighbours_json(const std::vector<select::Neighbour>& all, const select::CostTable& table) {
  Json out = Json::array();
  for (const auto& neighbour : all) out.push_back(neighbour_json(neighbour, table));
  return out;
}

Json answer_json(const SelectAnswer& answer, const select::CostTable& table) {
  const Descriptors& x = answer.phase.descriptors;
  const select::Explanation& e = answer.explanation;
  Json out;
  if (answer.phase.layer) out["layer"] = *answer.phase.layer;
  out["payload_bytes"] = ratio_json(x.payload);
  if (x.rail_skew) out["rail_skew"] = ratio_json(*x.rail_skew);
  if (x.receiver_concentration) {
    out["receiver_concentration"] = ratio_json(*x.receiver_concentration);
  }
  if (answer.phase.layer) out["fan_in"] = x.fan_in;
  out["path"] = to_string(e.selection.path);
  out["cause"] = to_string(e.selection.cause);
  out["why"] = e.sentence;
  if (e.selection.anchor >= 0) out["anchor"] = e.selection.anchor;
  out["eligible"] = neighbours_json(e.eligible, table);
  out["rejected"] = neighbours_json(e.rejected, table);
  return out;
}

}  // namespace

std::string select_json(const SelectGround& ground, const std::vector<SelectAnswer>& answers) {
  const select::CostTable& table = ground.selector.table();
  Json out;
  out["schema"] = "railwave.select/1";
  out["policy"] = to_string(ground.selector.policy());
  out["table"] = {{"file", ground.file},
                  {"unit", to_string(table.unit)},
                  {"cluster", shape_json(table.cluster)}};
  out["cluster"] = shape_json(ground.cluster);
  out["forced"] = ground.cluster != table.cluster;
  out["phases"] = Json::array();
  for (const SelectAnswer& answer : answers) out["phases"].push_back(answer_json(answer, table));
  return json_text(out);
}

}  // namespace railwave::cli
