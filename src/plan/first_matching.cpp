#include "first_matching.hpp"

#include <algorithm>

#include <boost/graph/max_cardinality_matching.hpp>

#include "base/checked.hpp"

namespace railwave::plan {
namespace {

/// Where Boost would look for a matching to begin with.
template <class AnyGraph, class Mates>
struct FromTheLast {
  static void find_matching(const AnyGraph&, Mates) {}
};

}  // namespace

FirstMatching::FirstMatching(std::span<const std::int64_t> left, std::size_t n)
    : n_(n),
      graph_(2 * n),
      mate_(2 * n, Graph::null_vertex()),
      column_of_(n, n),
      row_of_(n, n),
      columns_(n, Bits(n)),
      rows_(n, Bits(n)),
      free_columns_(n),
      choice_(n),
      open_rows_(n),
      met_(n),
      takes_(n) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] <= 0) continue;
    boost::add_edge(i / n, n + i % n, graph_);
    columns_[i / n].set(i % n);
    rows_[i % n].set(i / n);
  }
}

const Matching& FirstMatching::next() {
  lower_from(find_some_matching());
  return column_of_;
}

void FirstMatching::use_up(std::size_t row, std::size_t column) {
  boost::remove_edge(row, n_ + column, graph_);
  mate_[row] = Graph::null_vertex();
  mate_[n_ + column] = Graph::null_vertex();
  columns_[row].reset(column);
  rows_[column].reset(row);
}

/// Returns the first row that changed: with fewer entries than before, those above it still have
/// their lowest columns.
std::size_t FirstMatching::find_some_matching() {
  using Indices = boost::property_map<Graph, boost::vertex_index_t>::type;
  boost::matching<Graph, Vertex*, Indices, boost::edmonds_augmenting_path_finder, FromTheLast,
                  boost::no_matching_verifier>(graph_, mate_.data(),
                                               get(boost::vertex_index, graph_));
  std::size_t first = n_;
  for (std::size_t row = n_; row-- > 0;) {
    RAILWAVE_CHECK(mate_[row] != Graph::null_vertex(), "row %zu has no partner", row);
    if (column_of_[row] == mate_[row] - n_) continue;
    first = row;
    pair(row, mate_[row] - n_);
  }
  return first;
}

void FirstMatching::lower_from(std::size_t row) {
  free_columns_.reset();
  for (std::size_t other = row; other < n_; ++other) free_columns_.set(column_of_[other]);
  for (; row < n_; ++row) {
    choice_ = columns_[row];
    choice_ &= free_columns_;
    const std::size_t hoped = choice_.find_first();
    if (hoped != column_of_[row]) shift(row, lowest_in_reach(row, hoped));
    free_columns_.reset(column_of_[row]);
  }
}

/// Backwards from the row's column: rows that could take it release theirs, rows that could take
/// one of those release theirs, and so on. A released column that the row can take closes a cycle.
std::size_t FirstMatching::lowest_in_reach(std::size_t row, std::size_t hoped) {
  std::size_t lowest = column_of_[row];
  open_rows_.reset();
  for (std::size_t other = row + 1; other < n_; ++other) open_rows_.set(other);
  released_.assign(1, column_of_[row]);
  for (std::size_t i = 0; i < released_.size() && lowest != hoped; ++i) {
    met_ = rows_[released_[i]];
    met_ &= open_rows_;
    open_rows_ -= met_;
    for (auto other = met_.find_first(); other != Bits::npos; other = met_.find_next(other)) {
      takes_[other] = released_[i];
      released_.push_back(column_of_[other]);
      if (choice_[column_of_[other]]) lowest = std::min(lowest, column_of_[other]);
    }
  }
  return lowest;
}

/// The row takes the column, its row the one that it would take, and so on round the cycle.
void FirstMatching::shift(std::size_t row, std::size_t column) {
  const std::size_t last = column_of_[row];
  while (column != last) {
    const std::size_t loser = row_of_[column];
    pair(row, column);
    row = loser;
    column = takes_[loser];
  }
  pair(row, last);
}

void FirstMatching::pair(std::size_t row, std::size_t column) {
  column_of_[row] = column;
  row_of_[column] = row;
  mate_[row] = n_ + column;
  mate_[n_ + column] = row;
}

}  // namespace railwave::plan
