// NumPy's container. The input is the file.
#include <cstddef>
#include <cstdint>

#include "expect_trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railwave::workload;
  for (const TraceContent content : {TraceContent::FromFile, TraceContent::Counts}) {
    TraceReadOptions options;
    options.content = content;
    expect_answer("t.npy", {data, data + size}, options);
  }
  return 0;
}
