// Finds the nearest eligible anchor without looking at them all. Private to the room.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "log2_fixed.hpp"
#include "neighbourhood.hpp"
#include "select/cost_table.hpp"

namespace railwave::select {

/// A point's coordinates in units of 2^-28, so that the squares of gaps fit in 64 bits; each within
/// a unit or two of the exact one, the payload's relative to 1 byte.
struct Coordinates {
  std::int64_t payload = 0;
  std::int64_t rail_skew = 0;
  std::int64_t receiver_concentration = 0;
};

/// The anchors of a table by cells of (rail skew, receiver concentration), each anchor in all the
/// cells that its neighbourhood touches, and within a cell by payload. Rounded coordinates only say
/// where to look and which of two anchors is clearly nearer; every edge and every near tie is
/// decided exactly. Cost: one cell; in it the anchors whose payload alone is not farther than the
/// best. Threads: immutable.
class AnchorIndex {
 public:
  /// REQUIRES: `table` outlives this, stays where it is and passes check().
  AnchorIndex(const CostTable& table, bool one_rail);
  /// Index of the nearest eligible anchor, the first in the file of those that tie; -1 when there
  /// is none. REQUIRES: `phase` has a payload and both skews.
  [[nodiscard]] int nearest(const Descriptors& phase) const;
  [[nodiscard]] const Neighbourhood& neighbourhood(int anchor) const {
    return neighbourhoods_[static_cast<std::size_t>(anchor)];
  }

 private:
  class Search;
  struct Entry {
    Coordinates at;
    int anchor = 0;
  };
  struct Cell {
    std::int64_t rail_skew = 0;
    std::int64_t receiver_concentration = 0;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  /// The anchors of one cell by payload, and where each of about as many equal steps begins.
  class Entries {
   public:
    void add(const Entry& entry) { by_payload_.push_back(entry); }
    /// Once, after the last add(). REQUIRES: there is one.
    void sort();
    /// The first that has no smaller payload.
    [[nodiscard]] const Entry* at_or_above(std::int64_t payload) const;
    [[nodiscard]] const Entry* begin() const { return by_payload_.data(); }
    [[nodiscard]] const Entry* end() const { return by_payload_.data() + by_payload_.size(); }

   private:
    std::vector<Entry> by_payload_;
    std::vector<std::uint32_t> step_begin_;  // [steps + 1]
    int step_bits_ = 0;
  };
  struct CellHash {
    std::size_t operator()(const Cell& cell) const;
  };

  [[nodiscard]] Coordinates coordinates(const Descriptors& phase) const;
  void insert(int anchor);

  const CostTable& table_;
  bool one_rail_;
  Ratio rail_skew_divisor_;
  Ratio concentration_divisor_;
  std::int64_t payload_reach_ = 0;  // of a neighbourhood, and slack
  std::int64_t shape_reach_ = 0;
  int cell_bits_ = 0;
  std::vector<Neighbourhood> neighbourhoods_;
  std::unordered_map<Cell, Entries, CellHash> cells_;
};

}  // namespace railwave::select
