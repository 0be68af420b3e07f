#include "report/table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/checked.hpp"

namespace railwave::report {
namespace {

std::string line(std::string_view start, const std::vector<Column>& columns,
                 const std::vector<std::string>& cells, const std::vector<std::size_t>& width) {
  std::string out(start);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += "  ";
    out += columns[i].align == Align::Left ? fmt::format("{:<{}}", cells[i], width[i])
                                           : fmt::format("{:>{}}", cells[i], width[i]);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + '\n';
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  RAILWAVE_CHECK(cells.size() == columns_.size(), "%zu cells, %zu columns", cells.size(),
                 columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> names;
  std::vector<std::string> units;
  std::vector<std::size_t> width;
  bool any_unit = false;
  for (const Column& column : columns_) {
    names.push_back(column.name);
    units.push_back(column.unit.empty() ? "" : fmt::format("({})", column.unit));
    any_unit = any_unit || !column.unit.empty();
    width.push_back(std::max(names.back().size(), units.back().size()));
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string out = line("# ", columns_, names, width);
  if (any_unit) out += line("# ", columns_, units, width);
  for (const auto& row : rows_) out += line("  ", columns_, row, width);
  return out;
}

std::string comment(const std::string& sentence) {
  std::string out = "# ";
  for (const char c : sentence) {
    out += c;
    if (c == '\n') out += "# ";
  }
  return out + '\n';
}

}  // namespace railwave::report
