#include "choices.hpp"

#include <array>
#include <limits>

#include <fmt/format.h>

#include <railwave/railwave.h>

#include "base/fail.hpp"

namespace railwave::c_api {
namespace {

template <class Value>
struct Choice {
  std::int32_t chosen;
  Value value;
};

template <class Value, std::size_t n>
Result<Value> choose(const std::array<Choice<Value>, n>& choices, std::int32_t chosen,
                     const char* field) {
  for (const auto& choice : choices) {
    if (choice.chosen == chosen) return choice.value;
  }
  return fail(ErrorCode::InvalidArgument, field,
              fmt::format("{} is none of the choices in railwave.h", chosen));
}

constexpr std::array<Choice<DType>, 5> kDTypes{{{RAILWAVE_DTYPE_DEFAULT, DType::BF16},
                                                {RAILWAVE_BF16, DType::BF16},
                                                {RAILWAVE_FP32, DType::FP32},
                                                {RAILWAVE_FP16, DType::FP16},
                                                {RAILWAVE_FP8_E4M3, DType::FP8E4M3}}};

constexpr std::array<Choice<StartPolicy>, 4> kStarts{
    {{RAILWAVE_START_SUBMISSION, StartPolicy::Submission},
     {RAILWAVE_START_FREE, StartPolicy::Free},
     {RAILWAVE_START_RAIL_BARRIER, StartPolicy::RailBarrier},
     {RAILWAVE_START_GRANT, StartPolicy::Grant}}};

constexpr std::array<Choice<Path>, 5> kPaths{
    {{RAILWAVE_PATH_DEFAULT, Path::Joint},
     {RAILWAVE_PATH_NATIVE, Path::Native},
     {RAILWAVE_PATH_RAIL_ONLY, Path::RailOnly},
     {RAILWAVE_PATH_PERMUTATION_ONLY, Path::PermutationOnly},
     {RAILWAVE_PATH_JOINT, Path::Joint}}};

constexpr std::array<Choice<RowLayout>, 2> kLayouts{
    {{RAILWAVE_RANK_MAJOR, RowLayout::RankMajor}, {RAILWAVE_EXPERT_MAJOR, RowLayout::ExpertMajor}}};

}  // namespace

Result<DType> dtype_of(std::int32_t chosen, const char* field) {
  return choose(kDTypes, chosen, field);
}

Result<StartPolicy> start_of(std::int32_t chosen, StartPolicy otherwise, const char* field) {
  if (chosen == RAILWAVE_START_DEFAULT) return otherwise;
  return choose(kStarts, chosen, field);
}

Result<Path> path_of(std::int32_t chosen) { return choose(kPaths, chosen, "path"); }

Result<RowLayout> layout_of(std::int32_t chosen) { return choose(kLayouts, chosen, "layout"); }

Result<int> count_of(std::int64_t given, const char* field) {
  if (given >= 0 && given <= std::numeric_limits<int>::max()) {
    return given == 0 ? 1 : static_cast<int>(given);
  }
  return fail(ErrorCode::InvalidArgument, field,
              fmt::format("{} is not in 1 .. {}", given, std::numeric_limits<int>::max()));
}

}  // namespace railwave::c_api
