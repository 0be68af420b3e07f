#include "base/row_format.hpp"

#include "base/checked.hpp"
// Each loop is written once, in row_loops.hpp, and inlined into one function per instruction set.
// Not target_clones: their resolvers run before a sanitizer is ready. Not a file with -mavx2: the
// linker might keep its copy of an inline function for everyone.
#include "f16c_loops.hpp"
#include "row_loops.hpp"

namespace railwave {
namespace {

template <class Format>
struct Baseline {
  static void widen(const std::byte* row, float* out, std::size_t n) {
    row_loops::widen<Format>(row, out, n);
  }
  static void narrow(const float* in, std::byte* row, std::size_t n) {
    row_loops::narrow<Format>(in, row, n);
  }
  static void add(const Addends& addends, float* sum, std::size_t n, SumStart start) {
    row_loops::add<Format>(addends, sum, n, start);
  }
  static void add_rounded(const float* in, float* sum, std::size_t n, SumStart start) {
    row_loops::add_rounded<Format>(in, sum, n, start);
  }
};

#if defined(__x86_64__)
template <class Format>
struct Avx2 {
  [[gnu::target("avx2")]] static void widen(const std::byte* row, float* out, std::size_t n) {
    row_loops::widen<Format>(row, out, n);
  }
  [[gnu::target("avx2")]] static void narrow(const float* in, std::byte* row, std::size_t n) {
    row_loops::narrow<Format>(in, row, n);
  }
  [[gnu::target("avx2")]] static void add(const Addends& addends, float* sum, std::size_t n,
                                          SumStart start) {
    row_loops::add<Format>(addends, sum, n, start);
  }
  [[gnu::target("avx2")]] static void add_rounded(const float* in, float* sum, std::size_t n,
                                                  SumStart start) {
    row_loops::add_rounded<Format>(in, sum, n, start);
  }
};

/// F16C converts eight elements of fp16 by one instruction, far fewer than bit operations take.
template <>
struct Avx2<row_loops::Fp16> : F16c {};
#else
template <class Format>
using Avx2 = Baseline<Format>;
#endif

template <template <class> class Instructions, class Format>
constexpr RowFormat kLoops = {Instructions<Format>::widen, Instructions<Format>::narrow,
                              Instructions<Format>::add, Instructions<Format>::add_rounded};

template <template <class> class Instructions>
constexpr RowFormat kLoops<Instructions, row_loops::Fp8E4M3> = {
    Instructions<row_loops::Fp8E4M3>::widen, Instructions<row_loops::Fp8E4M3>::narrow, nullptr,
    nullptr};

template <template <class> class Instructions>
const RowFormat& loops_of(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return kLoops<Instructions, row_loops::Bf16>;
    case DType::FP32:
      return kLoops<Instructions, row_loops::Fp32>;
    case DType::FP16:
      return kLoops<Instructions, row_loops::Fp16>;
    case DType::FP8E4M3:
      return kLoops<Instructions, row_loops::Fp8E4M3>;
  }
  RAILWAVE_CHECK(false, "dtype %d", static_cast<int>(dtype));
}

}  // namespace

InstructionSet best_instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) return InstructionSet::Avx2;
#endif
  return InstructionSet::Baseline;
}

const RowFormat& row_format(DType dtype, InstructionSet instructions) {
  return instructions == InstructionSet::Avx2 ? loops_of<Avx2>(dtype) : loops_of<Baseline>(dtype);
}

}  // namespace railwave
