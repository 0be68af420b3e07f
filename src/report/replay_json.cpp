#include "report/replay_json.hpp"

#include <utility>

#include "base/fail.hpp"
#include "json_fields.hpp"
#include "replay_fields.hpp"

namespace railwave::report {
namespace {

constexpr std::string_view kWhole = "result";

Json write_result(const ReplayResult& result, Walk& walk) {
  Json object = Json::object();
  object["schema"] = kReplaySchema;
  object.update(write(result, walk));
  return object;
}

}  // namespace

Result<std::string> to_json(const ReplayResult& result) { return to_json(std::span(&result, 1)); }

Result<std::string> to_json(std::span<const ReplayResult> results) {
  Json array = Json::array();
  for (const ReplayResult& result : results) {
    Walk walk{kReplaySchema, kWhole};
    array.push_back(write_result(result, walk));
    if (walk.error) return fail(*walk.error);
  }
  return json_text(results.size() == 1 ? array[0] : array);
}

Result<std::vector<ReplayResult>> from_json(std::string_view text) {
  auto json = parse_json(text);
  if (!json) return fail(std::move(json).error());
  std::vector<ReplayResult> results;
  const std::size_t count = json->is_array() ? json->size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    auto result =
        read_object<ReplayResult>(json->is_array() ? (*json)[i] : *json, kReplaySchema, kWhole);
    if (!result) return fail(std::move(result).error());
    results.push_back(std::move(*result));
  }
  return results;
}

}  // namespace railwave::report
