// The lexicographically first perfect matching of what is left of a matrix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <boost/dynamic_bitset.hpp>
#include <boost/graph/adjacency_list.hpp>

namespace railwave::plan {

using Matching = std::vector<std::size_t>;  // [N] the column of each row

/// Perfect matchings of the entries of an N x N matrix while entries are used up: each the
/// lexicographically first, that is, the first row has the lowest column with which there is a
/// perfect matching, then the second, and so on. One entry set has one such matching, whatever
/// finds it. Boost.Graph finds some perfect matching from the one before: only those who lost their
/// partner look for a new one. From the first row that it changed on, rows then take lower columns
/// along alternating cycles. Threads: belongs to one thread.
class FirstMatching {
 public:
  /// `left` [N, N], entries above 0 count.
  FirstMatching(std::span<const std::int64_t> left, std::size_t n);
  /// REQUIRES: there is a perfect matching, as where all rows and columns have the same sum. Cost:
  /// Boost's augmentation, then O(N^2 ceil(N / 64)) at most.
  const Matching& next();
  /// REQUIRES: the entry is there and in the matching that next() gave last.
  void use_up(std::size_t row, std::size_t column);

 private:
  using Bits = boost::dynamic_bitset<>;  // [N]
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  using Vertex = Graph::vertex_descriptor;

  std::size_t find_some_matching();
  void lower_from(std::size_t row);
  [[nodiscard]] std::size_t lowest_in_reach(std::size_t row, std::size_t hoped);
  void shift(std::size_t row, std::size_t column);
  void pair(std::size_t row, std::size_t column);

  std::size_t n_;
  Graph graph_;                // rows, then columns
  std::vector<Vertex> mate_;   // [2N]
  Matching column_of_;         // [N]
  Matching row_of_;            // [N]
  std::vector<Bits> columns_;  // [N] of each row
  std::vector<Bits> rows_;     // [N] of each column
  Bits free_columns_;          // those of the rows that are not settled
  Bits choice_;                // free columns of the row at hand
  Bits open_rows_;             // unsettled rows that the search has not met
  Bits met_;
  std::vector<std::size_t> released_;  // columns whose row can take another
  std::vector<std::size_t> takes_;     // [N] the column that a row would take instead
};

}  // namespace railwave::plan
