// Raw arrays whose name tells the shape. The input is a name, a newline and the file's bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "expect_trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railwave::workload;
  const std::uint8_t* end = data + size;
  const std::uint8_t* newline = std::find(data, end, '\n');
  const std::string name(data, newline);
  const std::vector<std::uint8_t> bytes(newline == end ? end : newline + 1, end);
  for (const int experts : {0, 4}) {
    TraceReadOptions options;
    options.experts = experts;
    expect_answer(name, bytes, options);
  }
  return 0;
}
