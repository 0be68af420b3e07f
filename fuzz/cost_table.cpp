// Arbitrary bytes as a cost table: refused with a place, or read and written back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "select/cost_table_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace railwave;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto table = select::parse_cost_table(text, "fuzz.json");
  if (!table) {
    if (table.error().message.rfind("fuzz.json:", 0) != 0) std::abort();
    return 0;
  }
  const auto written = select::to_json(*table);
  if (!written) std::abort();
  const auto again = select::parse_cost_table(*written, "fuzz.json");
  if (!again || !(*again == *table)) std::abort();
  return 0;
}
