// The fields of a plan file as they lie there. Private to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "plan/recorded_plan.hpp"

namespace railwave::report {

struct TopologyFields {
  int rails = 0;
  std::vector<std::vector<int>> home_rail{};                        ///< [N][G_s]
  std::optional<std::vector<std::vector<int>>> missing_rails{};     ///< [N][] absent: none is
  std::optional<std::vector<std::vector<std::int64_t>>> weights{};  ///< [N][R] absent: all alike
  /// [N][N][R] chi; absent: the identity
  std::optional<std::vector<std::vector<std::vector<int>>>> ingress{};
};

struct SendFields {
  std::int64_t window = 0;
  std::vector<std::int64_t> rails{};  ///< [R]
};

struct SliceFields {
  int source = 0;
  int destination = 0;
  std::vector<SendFields> sends{};
  /// [][5] home, first, rail, slot, count
  std::vector<std::vector<std::int64_t>> segments{};
};

struct PlanFields {
  std::string path{};
  TopologyFields topology{};
  std::vector<std::vector<std::vector<std::int64_t>>> counts{};  ///< [N][R][N]
  std::vector<std::vector<std::vector<int>>> windows{};          ///< [W][][2]
  std::vector<SliceFields> slices{};
};

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, TopologyFields> {
  a("rails", v.rails);
  a("home_rail", v.home_rail);
  a("missing_rails", v.missing_rails);
  a("weights", v.weights);
  a("ingress", v.ingress);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, SendFields> {
  a("window", v.window);
  a("rails", v.rails);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, SliceFields> {
  a("source", v.source);
  a("destination", v.destination);
  a("sends", v.sends);
  a("segments", v.segments);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, PlanFields> {
  a("path", v.path);
  a("topology", v.topology);
  a("counts", v.counts);
  a("windows", v.windows);
  a("slices", v.slices);
}

/// Everything as it is written.
PlanFields plan_fields(const plan::RecordedPlan& plan);
/// Errors: InvalidArgument naming the field.
Result<plan::RecordedPlan> plan_of(const PlanFields& fields);

}  // namespace railwave::report
