// Expert counts in CSV. The input is the file.
#include <cstddef>
#include <cstdint>

#include "expect_trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railwave::workload;
  for (const char* task : {"", "law"}) {
    TraceReadOptions options;
    options.task = task;
    expect_answer("t.csv", {data, data + size}, options);
  }
  return 0;
}
