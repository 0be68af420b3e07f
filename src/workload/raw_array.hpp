// Raw arrays without header, whose file name tells the shape. Private to the room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array_file.hpp"

namespace railwave::workload {

/// One dimension as the name tells it: the letter and the extent, "L26" -> {'L', 26}.
struct NamedExtent {
  char letter;
  std::int64_t extent;
};

/// The element type that the ending stands for; none when it is no raw array's ending.
std::optional<ElementType> raw_element_type(std::string_view extension);

/// The trailing parts of "intent_L26_T8222_K6.u8" that are one letter and a number.
std::vector<NamedExtent> named_extents(std::string_view file_name);

}  // namespace railwave::workload
