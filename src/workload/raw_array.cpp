#include "raw_array.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace railwave::workload {
namespace {

std::optional<NamedExtent> named_extent(std::string_view part) {
  if (part.size() < 2 || part[0] < 'A' || part[0] > 'Z') return std::nullopt;
  NamedExtent out{part[0], 0};
  const auto [end, error] = std::from_chars(part.data() + 1, part.data() + part.size(), out.extent);
  if (error != std::errc{} || end != part.data() + part.size() || out.extent < 0) {
    return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<ElementType> raw_element_type(std::string_view extension) {
  static constexpr std::array kTypes{
      std::pair<std::string_view, ElementType>{".u8", {1, false}},
      std::pair<std::string_view, ElementType>{".u16le", {2, false}},
      std::pair<std::string_view, ElementType>{".i32le", {4, true}},
      std::pair<std::string_view, ElementType>{".i64le", {8, true}},
  };
  for (const auto& [name, type] : kTypes) {
    if (name == extension) return type;
  }
  return std::nullopt;
}

std::vector<NamedExtent> named_extents(std::string_view file_name) {
  std::string_view stem = file_name.substr(0, file_name.rfind('.'));
  std::vector<NamedExtent> out;
  while (!stem.empty()) {
    const std::size_t underscore = stem.rfind('_');
    const bool last = underscore == std::string_view::npos;
    const auto extent = named_extent(last ? stem : stem.substr(underscore + 1));
    if (!extent) break;
    out.push_back(*extent);
    stem = last ? std::string_view{} : stem.substr(0, underscore);
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace railwave::workload
