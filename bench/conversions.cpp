// Rows of H = 7168 elements to and from fp32, and sums of rows as combine makes them: the plain
// loop, the vectorised loops of each instruction set that this CPU has, and RowSum. convert: one
// row, in the cache. sum: 1, 2, 4 or 8 rows out of 64 MiB, then stored.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/row_format.hpp"
#include "exec/reduce.hpp"
#include "plain_loops.hpp"

namespace railwave {
namespace {

constexpr std::size_t kHidden = 7168;
constexpr std::size_t kPool = 64 << 20;

std::size_t row_bytes(DType dtype) {
  return kHidden * static_cast<std::size_t>(element_bytes(dtype));
}

/// Rows of elements between 0.5 and 2: arithmetic on subnormals is slow, and no activation is one.
std::vector<std::byte> some_rows(DType dtype, std::size_t rows) {
  std::vector<float> wide(kHidden);
  for (std::size_t i = 0; i < kHidden; ++i) wide[i] = 0.5F + static_cast<float>(i * 37 % 97) / 64;
  std::vector<std::byte> out(rows * row_bytes(dtype));
  for (std::size_t r = 0; r < rows; ++r) {
    row_format(dtype).narrow(wide.data(), out.data() + r * row_bytes(dtype), kHidden);
  }
  return out;
}

struct Row {
  explicit Row(DType dtype) : narrow(some_rows(dtype, 1)), wide(kHidden) {
    row_format(dtype).widen(narrow.data(), wide.data(), kHidden);
  }
  std::vector<std::byte> narrow;
  std::vector<float> wide;
};

void count(benchmark::State& state, std::int64_t elements_each) {
  state.SetItemsProcessed(state.iterations() * elements_each);
}

template <class Step>
void convert(benchmark::State& state, DType dtype, Step step) {
  Row row(dtype);
  for (auto round : state) {
    (void)round;
    step(row);
    benchmark::ClobberMemory();
  }
  count(state, kHidden);
}

/// Rows one after the other out of a pool that no private cache holds.
class Pool {
 public:
  explicit Pool(DType dtype)
      : row_bytes_(row_bytes(dtype)), rows_(kPool / row_bytes_), memory_(some_rows(dtype, rows_)) {}
  const std::byte* next() {
    at_ = (at_ + 1) % rows_;
    return memory_.data() + at_ * row_bytes_;
  }

 private:
  std::size_t row_bytes_;
  std::size_t rows_;
  std::vector<std::byte> memory_;
  std::size_t at_ = 0;
};

/// Sums of state.range(0) rows: step(rows, out).
template <class Step>
void sum(benchmark::State& state, DType dtype, Step step) {
  Pool pool(dtype);
  std::vector<const std::byte*> rows(static_cast<std::size_t>(state.range(0)));
  std::vector<std::byte> out(row_bytes(dtype));
  for (auto round : state) {
    (void)round;
    for (const std::byte*& row : rows) row = pool.next();
    step(rows, out.data());
    benchmark::ClobberMemory();
  }
  count(state, static_cast<std::int64_t>(kHidden * rows.size()));
}

using Rows = const std::vector<const std::byte*>&;

/// One row at a time, by the loops of an instruction set.
auto passes(DType dtype, InstructionSet instructions) {
  return [&loops = row_format(dtype, instructions), wide = std::vector<float>(kHidden)](
             Rows rows, std::byte* out) mutable {
    SumStart start = SumStart::Zero;
    for (const std::byte* const& row : rows) {
      loops.add({std::span(&row, 1)}, wide.data(), kHidden, start);
      start = SumStart::Sum;
    }
    loops.narrow(wide.data(), out, kHidden);
  };
}

auto plain_passes(DType dtype) {
  return [dtype, wide = std::vector<float>(kHidden)](Rows rows, std::byte* out) mutable {
    std::fill(wide.begin(), wide.end(), 0.0F);
    for (const std::byte* row : rows) bench::plain_add(dtype, row, wide.data(), kHidden);
    bench::plain_narrow(dtype, wide.data(), out, kHidden);
  };
}

struct Instructions {
  const char* name;
  InstructionSet set;
};

std::vector<Instructions> available() {
  std::vector<Instructions> out = {{"baseline", InstructionSet::Baseline}};
  if (best_instruction_set() == InstructionSet::Avx2) out.push_back({"avx2", InstructionSet::Avx2});
  return out;
}

template <class Step>
void register_convert(const std::string& name, DType dtype, Step step) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { convert(state, dtype, step); });
}

void register_conversions(DType dtype) {
  const std::string format(to_string(dtype));
  register_convert("widen/" + format + "/plain", dtype, [dtype](Row& row) {
    bench::plain_widen(dtype, row.narrow.data(), row.wide.data(), kHidden);
  });
  register_convert("narrow/" + format + "/plain", dtype, [dtype](Row& row) {
    bench::plain_narrow(dtype, row.wide.data(), row.narrow.data(), kHidden);
  });
  for (const auto& [name, set] : available()) {
    const RowFormat* loops = &row_format(dtype, set);
    register_convert("widen/" + format + "/" + name, dtype, [loops](Row& row) {
      loops->widen(row.narrow.data(), row.wide.data(), kHidden);
    });
    register_convert("narrow/" + format + "/" + name, dtype, [loops](Row& row) {
      loops->narrow(row.wide.data(), row.narrow.data(), kHidden);
    });
  }
}

template <class Make>
void register_sum(const std::string& name, DType dtype, Make make) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { sum(state, dtype, make()); })
      ->RangeMultiplier(2)
      ->Range(1, 8);
}

/// `one_by_one` with baseline instructions is what RowSum did before it had others.
void register_sums(DType dtype) {
  const std::string format = "sum/" + std::string(to_string(dtype));
  register_sum(format + "/plain", dtype, [dtype] { return plain_passes(dtype); });
  for (const auto& [name, set] : available()) {
    register_sum(format + "/one_by_one/" + name, dtype,
                 [dtype, set = set] { return passes(dtype, set); });
  }
  register_sum(format + "/row_sum", dtype, [dtype] {
    return [total = std::make_shared<exec::RowSum>(dtype, kHidden)](Rows rows, std::byte* out) {
      total->reset();
      total->add(rows);
      total->store(out);
    };
  });
  register_sum(format + "/row_sum_scaled", dtype, [dtype] {
    return [total = std::make_shared<exec::RowSum>(dtype, kHidden),
            weights = std::vector<float>(8, 0.125F)](Rows rows, std::byte* out) {
      total->reset();
      total->add_scaled(rows, std::span(weights).first(rows.size()));
      total->store(out);
    };
  });
}

void register_all() {
  for (const DType dtype : {DType::BF16, DType::FP16, DType::FP8E4M3, DType::FP32}) {
    register_conversions(dtype);
  }
  for (const DType dtype : {DType::BF16, DType::FP16, DType::FP32}) register_sums(dtype);
}

}  // namespace
}  // namespace railwave

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  railwave::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
