// Plan files. The input is the file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/checked.hpp"
#include "plan/plan_check.hpp"
#include "plan/plan_compare.hpp"
#include "report/plan_json.hpp"

namespace railwave::report {
namespace {

void expect_refusal(const Error& error) {
  RAILWAVE_CHECK(error.code == ErrorCode::InvalidArgument || error.code == ErrorCode::Unsupported,
                 "%d", static_cast<int>(error.code));
  // Where it is no JSON the line, else the field; a plan of another version names both versions.
  const std::string& message = error.message;
  RAILWAVE_CHECK(error.field == "json"     ? message.starts_with("line ")
                 : error.field == "schema" ? message.find(", expected ") != std::string::npos
                                           : message.starts_with(error.field + ": "),
                 "%s: %s", error.field.c_str(), message.c_str());
}

/// A plan that is accepted comes back as it went, and can be checked, compared and asked for every
/// record's route, however wrong it is. One without a fault has a route for every record.
void expect_sound(const plan::RecordedPlan& plan) {
  const auto again = plan_from_json(plan_to_json(plan));
  RAILWAVE_CHECK(again, "%s", again.error().message.c_str());
  RAILWAVE_CHECK(again->windows == plan.windows && again->slices == plan.slices);
  RAILWAVE_CHECK(compare(plan, *again) == plan::PlanDifference{});
  const bool sound = violations(plan).empty();
  for (const plan::RecordedSlice& slice : plan.slices) {
    RAILWAVE_CHECK(moved_records(slice) >= 0);
    for (const plan::Segment& segment : slice.segments) {
      const auto route = route_of(plan, slice.pair, segment.home, segment.first);
      RAILWAVE_CHECK(route || !sound, "%s", route.error().message.c_str());
    }
  }
}

}  // namespace
}  // namespace railwave::report

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railwave::report;
  const auto plan = plan_from_json({reinterpret_cast<const char*>(data), size});
  if (plan) {
    expect_sound(*plan);
  } else {
    expect_refusal(plan.error());
  }
  return 0;
}
