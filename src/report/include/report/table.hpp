// Aligned text tables in the style of nccl-tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace railwave::report {

enum class Align : std::uint8_t { Left = 0, Right = 1 };

struct Column {
  std::string name;
  std::string unit{};  ///< shown in brackets below the name; empty: none
  Align align = Align::Right;
};

/// Rows under header lines that start with '#', so that other tools can skip them. Cells are ASCII.
/// Threads: belongs to one thread.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  /// REQUIRES: one cell per column.
  void add_row(std::vector<std::string> cells);
  /// Names, units (when any column has one) and rows; every line ends with a newline.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "# " before every line of `sentence`.
std::string comment(const std::string& sentence);

}  // namespace railwave::report
