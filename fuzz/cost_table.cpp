// Cost tables. The input is the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/checked.hpp"
#include "expect_place.hpp"
#include "select/cost_table_file.hpp"
#include "select/selector.hpp"

namespace railwave::select {
namespace {

constexpr std::string_view kName = "fuzz.json";

void expect_refusal(const Error& error) {
  RAILWAVE_CHECK(error.code == ErrorCode::InvalidArgument || error.code == ErrorCode::Unsupported,
                 "%d", static_cast<int>(error.code));
  RAILWAVE_CHECK(!error.field.empty());
  const std::string_view message = error.message;
  RAILWAVE_CHECK(message.starts_with(kName), "%s", error.message.c_str());
  const std::string_view place = message.substr(kName.size());
  RAILWAVE_CHECK(place.starts_with(": /") ||
                     (place.starts_with(":") && begins_with_line_and_column(place.substr(1))),
                 "%s", error.message.c_str());
}

/// A table that is accepted comes back as it went, and at the point of an anchor an anchor at
/// distance 0 is chosen.
void expect_sound(const CostTable& table) {
  const auto text = to_json(table);
  RAILWAVE_CHECK(text, "%s", text.error().message.c_str());
  const auto again = parse_cost_table(*text, kName);
  RAILWAVE_CHECK(again, "%s", again.error().message.c_str());
  RAILWAVE_CHECK(*again == table);
  const auto selector = make_selector(table, table.cluster);
  RAILWAVE_CHECK(selector, "%s", selector.error().message.c_str());
  for (const Anchor& anchor : table.anchors) {
    const Ratio payload = anchor.at.payload.ratio();
    if (payload.num > std::int64_t{1} << 42) continue;  // times 2^20 it would leave 63 bits
    const Descriptors phase{{payload.num * bytes_of(table.unit), payload.den},
                            anchor.at.rail_skew.ratio(),
                            anchor.at.receiver_concentration.ratio(),
                            1};
    const Selection selection = (*selector)->select(phase);
    RAILWAVE_CHECK(selection.cause == Cause::NearestAnchor && is_candidate(selection.path));
    RAILWAVE_CHECK((*selector)->explain(phase, 3).eligible.front().distance == 0);
  }
}

}  // namespace
}  // namespace railwave::select

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railwave::select;
  const auto table = parse_cost_table({reinterpret_cast<const char*>(data), size}, kName);
  if (table) {
    expect_sound(*table);
  } else {
    expect_refusal(table.error());
  }
  return 0;
}
