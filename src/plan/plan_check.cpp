#include "plan/plan_check.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "slice_check.hpp"

namespace railwave::plan {
namespace {

/// The windows that list each pair, ascending.
using Listing = std::map<NodePair, std::vector<std::size_t>>;

bool is_pair(const RecordedPlan& plan, NodePair pair) {
  const auto is_node = [&](NodeId n) { return n.value >= 0 && n.value < plan.topology.nodes(); };
  return is_node(pair.source) && is_node(pair.destination) && pair.source != pair.destination;
}

std::string text(NodePair pair) {
  return fmt::format("pair ({}, {})", pair.source.value, pair.destination.value);
}

std::string text(std::size_t window, NodePair pair) {
  return fmt::format("window {}, {}", window, text(pair));
}

/// What the windows of each path look like, whatever the slices say.
class WindowCheck {
 public:
  WindowCheck(const RecordedPlan& plan, Findings& findings) : plan_(plan), findings_(findings) {}

  Listing run() {
    Listing listing;
    for (std::size_t w = 0; w < plan_.windows.size(); ++w) {
      if (plan_.windows[w].empty()) {
        findings_.add(Fault::EmptyWindow, fmt::format("window {} has no pair", w));
      }
      senders_.clear();
      receivers_.clear();
      for (const NodePair pair : plan_.windows[w]) list(w, pair, listing);
      if (uses_waves(plan_.path)) check_wave(w);
    }
    check_count();
    return listing;
  }

 private:
  void list(std::size_t w, NodePair pair, Listing& listing) {
    if (!is_pair(plan_, pair)) {
      findings_.add(Fault::OutOfRange, text(w, pair) + ": no two nodes of the cluster");
      return;
    }
    auto& windows = listing[pair];
    if (!windows.empty() && windows.back() == w) {
      findings_.add(Fault::PairTwice, text(w, pair) + ": the pair is there twice");
      return;
    }
    windows.push_back(w);
    if (windows.size() == 2 && plan_.path != Path::Birkhoff) {
      findings_.add(Fault::PairTooOften,
                    text(w, pair) + fmt::format(": it sends in window {} already", windows[0]));
    }
    if (plan_.counts.slice(pair.source, pair.destination) == 0) {
      findings_.add(Fault::PairIdle, text(w, pair) + ": it has no records");
    }
    match(w, pair);
  }

  void match(std::size_t w, NodePair pair) {
    const bool first_send = senders_.emplace(pair.source, pair.destination).second;
    const bool first_receipt = receivers_.emplace(pair.destination, pair.source).second;
    const bool matchings =
        uses_waves(plan_.path) || plan_.path == Path::Birkhoff || plan_.path == Path::Pairwise;
    if (!matchings) return;
    if (!first_send || !first_receipt) {
      findings_.add(
          Fault::NotAMatching,
          text(w, pair) + fmt::format(": node {} already {}",
                                      first_send ? pair.destination.value : pair.source.value,
                                      first_send ? "receives" : "sends"));
    }
    if (plan_.path == Path::Pairwise) check_partner(w, pair);
  }

  /// Who sends to a node is also whom that node sends to.
  void check_partner(std::size_t w, NodePair pair) {
    const auto from = receivers_.find(pair.source);
    const auto to = senders_.find(pair.destination);
    if ((from == receivers_.end() || from->second == pair.destination) &&
        (to == senders_.end() || to->second == pair.source)) {
      return;
    }
    findings_.add(Fault::WrongWindow, text(w, pair) + ": one of them exchanges with another node");
  }

  void check_wave(std::size_t w) {
    int shift = 0;
    for (const NodePair pair : plan_.windows[w]) {
      if (!is_pair(plan_, pair)) continue;
      const int nodes = plan_.topology.nodes();
      const int here = (pair.destination.value - pair.source.value + nodes) % nodes;
      if (shift != 0 && here != shift) {
        findings_.add(Fault::WrongWindow,
                      text(w, pair) + fmt::format(": shift {} in wave {}", here, shift));
      } else if (shift == 0 && here <= last_shift_) {
        findings_.add(Fault::WrongWindow,
                      text(w, pair) + fmt::format(": wave {} after wave {}", here, last_shift_));
      }
      if (shift == 0) shift = here;
    }
    if (shift != 0) last_shift_ = shift;
  }

  void check_count() {
    const auto n = static_cast<std::size_t>(plan_.topology.nodes());
    const std::size_t most = plan_.path == Path::Linear     ? 1
                             : plan_.path == Path::Birkhoff ? n * n - 2 * n + 2
                             : plan_.path == Path::Pairwise ? n - 1 + n % 2
                                                            : n * n;
    if (plan_.windows.size() <= most) return;
    findings_.add(Fault::WrongWindow,
                  fmt::format("{} windows, path {} has at most {}", plan_.windows.size(),
                              to_string(plan_.path), most));
  }

  const RecordedPlan& plan_;
  Findings& findings_;
  std::map<NodeId, NodeId> senders_;    // of the window at hand: to whom
  std::map<NodeId, NodeId> receivers_;  // from whom
  int last_shift_ = 0;
};

/// A slice's sends against the windows that list its pair.
void check_sends(const RecordedSlice& slice, const Listing& listing, Findings& findings) {
  const auto listed = listing.find(slice.pair);
  std::set<std::size_t> windows;
  if (listed != listing.end()) windows.insert(listed->second.begin(), listed->second.end());
  for (std::size_t i = 0; i < slice.sends.size(); ++i) {
    const RecordedSend& send = slice.sends[i];
    if (i > 0 && send.window <= slice.sends[i - 1].window) {
      findings.add(Fault::OutOfOrder,
                   text(send.window, slice.pair) +
                       fmt::format(": sent after window {}", slice.sends[i - 1].window));
    }
    if (windows.erase(send.window) == 0) {
      findings.add(Fault::SendMismatch, text(send.window, slice.pair) +
                                            ": it sends there, but the window does not list it");
    }
    if (std::all_of(send.loads.begin(), send.loads.end(), [](auto load) { return load == 0; })) {
      findings.add(Fault::SendMismatch, text(send.window, slice.pair) + ": it sends nothing there");
    }
  }
  for (const std::size_t window : windows) {
    findings.add(Fault::SendMismatch,
                 text(window, slice.pair) + ": the window lists it, but it does not send there");
  }
}

/// Every pair with records has one slice and a window, no other pair has a slice.
void check_pairs(const RecordedPlan& plan, const Listing& listing, Findings& findings) {
  std::set<NodePair> met;
  for (const RecordedSlice& slice : plan.slices) {
    if (!is_pair(plan, slice.pair)) continue;
    if (!met.empty() && slice.pair < *met.rbegin()) {
      findings.add(Fault::OutOfOrder, text(slice.pair) + ": slices do not ascend");
    }
    if (!met.insert(slice.pair).second) {
      findings.add(Fault::PairTwice, text(slice.pair) + ": it has two slices");
    }
    if (plan.counts.slice(slice.pair.source, slice.pair.destination) == 0) {
      findings.add(Fault::PairIdle, text(slice.pair) + ": a slice without records");
    }
  }
  for (NodeId s(0); s.value < plan.topology.nodes(); ++s.value) {
    for (NodeId d(0); d.value < plan.topology.nodes(); ++d.value) {
      const std::int64_t records = plan.counts.slice(s, d);
      if (records == 0) continue;
      for (const bool missing : {met.count({s, d}) == 0, listing.count({s, d}) == 0}) {
        if (!missing) continue;
        findings.add(
            Fault::PairAbsent,
            text(NodePair{s, d}) + fmt::format(": {} records, but no slice or window", records));
        break;
      }
    }
  }
}

/// Counts of the cluster's shape that can be added up.
bool check_counts(const RecordedPlan& plan, Findings& findings) {
  const RailCounts& counts = plan.counts;
  bool good = counts.nodes() == plan.topology.nodes() && counts.rails() == plan.topology.rails();
  unsigned __int128 total = 0;
  for (NodeId s(0); good && s.value < counts.nodes(); ++s.value) {
    for (RailId r(0); r.value < counts.rails(); ++r.value) {
      for (NodeId d(0); d.value < counts.nodes(); ++d.value) {
        good = good && counts.at(s, r, d) >= 0;
        total += static_cast<unsigned __int128>(counts.at(s, r, d));
      }
    }
  }
  good = good && total <= static_cast<unsigned __int128>(std::numeric_limits<std::int64_t>::max());
  if (!good) findings.add(Fault::OutOfRange, "counts of another shape, below 0 or past 64 bits");
  return good;
}

}  // namespace

std::string_view to_string(Fault fault) {
  constexpr std::array<std::string_view, 19> kNames{
      "OutOfRange",    "OutOfOrder",     "EmptyWindow",   "PairTwice",      "PairTooOften",
      "PairAbsent",    "PairIdle",       "NotAMatching",  "WrongWindow",    "SendMismatch",
      "RecordMissing", "RecordTwice",    "RecordUnknown", "SlotGap",        "SlotTwice",
      "LoadMismatch",  "IneligibleRail", "UnevenQuota",   "MovedNeedlessly"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::vector<Violation> violations(const RecordedPlan& plan) {
  Findings findings;
  if (!check_counts(plan, findings)) return findings.take();
  const Listing listing = WindowCheck(plan, findings).run();
  check_pairs(plan, listing, findings);
  for (const RecordedSlice& slice : plan.slices) {
    if (!is_pair(plan, slice.pair)) {
      findings.add(Fault::OutOfRange, text(slice.pair) + ": no two nodes of the cluster");
      continue;
    }
    check_sends(slice, listing, findings);
    check_slice(plan, slice, findings);
  }
  return findings.take();
}

}  // namespace railwave::plan
