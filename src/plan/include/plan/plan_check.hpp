// Whether a plan that is written out is one that may run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/recorded_plan.hpp"

namespace railwave::plan {

/// What can be wrong with a plan.
///   OutOfRange       a node, rail, window or count that can not be, loads of another shape
///   OutOfOrder       slices, sends or segments that do not ascend
///   EmptyWindow      a window without pairs
///   PairTwice        a pair twice in one window, or two slices of one pair
///   PairTooOften     a pair in several windows on a path on which it sends once
///   PairAbsent       a pair with records that has no slice or is in no window
///   PairIdle         a pair without records in a window or with a slice
///   NotAMatching     two senders of one receiver, or two receivers of one sender, in a window of a
///                    path whose windows are matchings: the waves, Birkhoff stages, pairwise rounds
///   WrongWindow      a window that the path does not have: pairs of different shifts in a wave,
///   waves
///                    out of order, a pairwise exchange with two partners, more windows than there
///                    can be
///   SendMismatch     a slice sends in a window that does not list its pair, or the other way
///   round;
///                    a send of nothing
///   RecordMissing    a record in no segment
///   RecordTwice      a record in two segments
///   RecordUnknown    a record that the counts do not have
///   SlotGap          a free slot below a taken one
///   SlotTwice        two records in one slot
///   LoadMismatch     the sends' loads on a rail do not add up to the records on it
///   IneligibleRail   records on a rail that is down at one end
///   UnevenQuota      a balanced slice whose load on a rail is not its ideal share rounded up or
///   down MovedNeedlessly  a record that leaves its home rail though it may stay: on home-rail
///   paths that
///                    rail is eligible, on balanced ones the record is among the first min(C, Q)
enum class Fault : std::uint8_t {
  OutOfRange,
  OutOfOrder,
  EmptyWindow,
  PairTwice,
  PairTooOften,
  PairAbsent,
  PairIdle,
  NotAMatching,
  WrongWindow,
  SendMismatch,
  RecordMissing,
  RecordTwice,
  RecordUnknown,
  SlotGap,
  SlotTwice,
  LoadMismatch,
  IneligibleRail,
  UnevenQuota,
  MovedNeedlessly,
};

/// The name as written here, for example "SlotGap".
std::string_view to_string(Fault fault);

struct Violation {
  Fault fault = Fault::OutOfRange;
  std::string where;  ///< one sentence that names window, pair, rail and numbers
};

/// Everything that is wrong, windows first, then slices in their order; empty: the plan may run. A
/// planted fault may show in several ways; each is listed. Nothing in the plan is trusted but its
/// topology. Cost: sorting its pairs and segments.
/// Source: DESIGN 5.1-5.3, plan/rail_balance.hpp, plan/dispatch_plan.hpp.
std::vector<Violation> violations(const RecordedPlan& plan);

}  // namespace railwave::plan
