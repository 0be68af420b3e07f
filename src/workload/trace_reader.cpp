#include "workload/trace_reader.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "array_file.hpp"
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "counts_csv.hpp"
#include "npy.hpp"
#include "raw_array.hpp"

namespace railwave::workload {
namespace {

constexpr std::int64_t kMostLayers = 1 << 20;
/// Without tokens a file of no bytes may name any number of layers, which others then walk through.
constexpr std::int64_t kMostEmptyLayers = 4096;

/// An extent as an int. Errors: InvalidArgument{trace}.
Result<int> small_extent(const ArrayFile& file, std::int64_t extent, const char* name,
                         std::int64_t most = std::numeric_limits<int>::max()) {
  if (extent >= 1 && extent <= most) return static_cast<int>(extent);
  return trace_error(file.path, fmt::format("{} {}: expected 1 to {}", extent, name, most));
}

/// Puts the file's name before the error of a value built from it.
Result<Trace> named(const ArrayFile& file, Result<Trace> trace) {
  if (trace) return trace;
  Error error = std::move(trace).error();
  error.message = fmt::format("{}: {}", file.path, error.message);
  return fail(std::move(error));
}

tl::unexpected<Error> wrong_element(const ArrayFile& file, std::int64_t index,
                                    const std::string& expected) {
  const auto value = file.at(index);
  return trace_error(
      file.path, fmt::format("byte {}: element {} is {}, expected {}", file.offset_of(index), index,
                             value ? std::to_string(*value) : "beyond 63 bits", expected));
}

Result<std::vector<std::uint16_t>> ids_of(const ArrayFile& file, std::int64_t elements,
                                          const Trace::IdShape& shape) {
  const int experts = shape.experts > 0 ? shape.experts : Trace::kMaxExperts;
  std::vector<std::uint16_t> ids(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto value = file.at(i);
    if (!value || *value < -1 || *value >= experts) {
      const std::int64_t row = i / shape.top_k;
      return wrong_element(
          file, i,
          fmt::format("an expert id below {} or -1 (layer {}, token {}, slot {})", experts,
                      row / shape.tokens, row % shape.tokens, i % shape.top_k));
    }
    ids[static_cast<std::size_t>(i)] =
        *value < 0 ? Trace::kNoExpert : static_cast<std::uint16_t>(*value);
  }
  return ids;
}

/// [L, T, K].
Result<Trace> ids_trace(const ArrayFile& file, std::int64_t elements, int experts) {
  const bool empty = file.shape[1] == 0;
  const auto layers = small_extent(file, file.shape[0], empty ? "layers without tokens" : "layers",
                                   empty ? kMostEmptyLayers : kMostLayers);
  if (!layers) return fail(layers.error());
  const auto top_k = small_extent(file, file.shape[2], "slots");
  if (!top_k) return fail(top_k.error());
  const Trace::IdShape shape{*layers, file.shape[1], *top_k, experts};
  auto ids = ids_of(file, elements, shape);
  if (!ids) return fail(std::move(ids).error());
  return named(file, Trace::from_ids(shape, std::move(*ids)));
}

Result<std::vector<std::int64_t>> counts_of(const ArrayFile& file, std::int64_t elements) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto value = file.at(i);
    if (!value || *value < 0) return wrong_element(file, i, "a count of 0 to 2^63 - 1");
    counts[static_cast<std::size_t>(i)] = *value;
  }
  return counts;
}

/// [layers, sources, experts], already folded.
Result<Trace> counts_trace(const ArrayFile& file, std::int64_t elements,
                           std::array<std::int64_t, 3> folded) {
  const auto layers = small_extent(file, folded[0], "layers", kMostLayers);
  if (!layers) return fail(layers.error());
  const auto sources = small_extent(file, folded[1], "sources");
  if (!sources) return fail(sources.error());
  const auto experts = small_extent(file, folded[2], "experts");
  if (!experts) return fail(experts.error());
  auto counts = counts_of(file, elements);
  if (!counts) return fail(std::move(counts).error());
  return named(file, Trace::from_counts({*layers, *sources, *experts}, std::move(*counts)));
}

/// Letters in the order of the name. [I?, L] become layers, [R or P?, M?] sources.
Result<Trace> raw_trace(ArrayFile file, const TraceReadOptions& options) {
  auto extents = named_extents(std::filesystem::path(file.path).filename().string());
  std::string letters;
  for (const NamedExtent& e : extents) letters += e.letter;
  int experts = options.experts;
  const bool ids = letters == "LTK" || letters == "LTKE";
  if (ids && extents.size() == 4) {
    const auto named = small_extent(file, extents[3].extent, "experts", Trace::kMaxExperts);
    if (!named) return fail(named.error());
    if (experts == 0) experts = *named;
    extents.pop_back();
  }
  for (const NamedExtent& e : extents) file.shape.push_back(e.extent);
  const std::string_view rest = std::string_view(letters).substr(letters.starts_with('I') ? 1 : 0);
  const bool counts = rest == "LE" || rest == "LRE" || rest == "LPE" || rest == "LME" ||
                      rest == "LRME" || rest == "LPME";
  if (!ids && !counts) {
    return trace_error(file.path, fmt::format("its name tells the dimensions '{}', expected "
                                              "..._L26_T8222_K6 or ..._[I20_]L24_[R16_][M4_]E32",
                                              letters));
  }
  const auto elements = checked_elements(file);
  if (!elements) return fail(elements.error());
  if (ids) return ids_trace(file, *elements, experts);
  std::array<std::int64_t, 3> folded{1, 1, 1};
  for (const NamedExtent& e : extents) {
    if (e.extent == 0) return trace_error(file.path, "its name tells a dimension of extent 0");
    folded[e.letter == 'E' ? 2 : e.letter == 'I' || e.letter == 'L' ? 0 : 1] *= e.extent;
  }
  return counts_trace(file, *elements, folded);
}

Result<Trace> npy_trace(ArrayFile file, const TraceReadOptions& options) {
  RAILWAVE_TRY(parse_npy(file));
  const std::size_t rank = file.shape.size();
  const bool counts_by_name =
      std::filesystem::path(file.path).filename().string().find("counts") != std::string::npos;
  const bool counts = options.content == TraceContent::Counts ||
                      (options.content == TraceContent::FromFile && (rank == 2 || counts_by_name));
  if (rank != 3 && !(counts && rank == 2)) {
    return trace_error(file.path, fmt::format("has {} dimensions, expected ids [L, T, K] or counts "
                                              "[L, E] or [L, S, E]",
                                              rank));
  }
  const auto elements = checked_elements(file);
  if (!elements) return fail(elements.error());
  if (!counts) return ids_trace(file, *elements, options.experts);
  const std::int64_t sources = rank == 3 ? file.shape[1] : 1;
  return counts_trace(file, *elements, {file.shape[0], sources, file.shape.back()});
}

/// "counts.csv:intent" -> {"counts.csv", "intent"}, unless a file of the whole name exists.
std::pair<std::string, std::string> split_task(const std::string& path, const std::string& task) {
  const std::size_t colon = path.rfind(".csv:");
  std::error_code status;
  if (colon == std::string::npos || std::filesystem::exists(path, status)) return {path, task};
  return {path.substr(0, colon + 4), path.substr(colon + 5)};
}

std::string extension_of(const std::string& name) {
  return std::filesystem::path(name).extension().string();
}

Status check_extension(const std::string& name, std::string_view extension) {
  if (raw_element_type(extension) || extension == ".npy" || extension == ".csv") return {};
  return fail(ErrorCode::Unsupported, "trace",
              fmt::format("{}: ending '{}' is not read; expected .u8, .u16le, .i32le, .i64le, .npy "
                          "or .csv",
                          name, extension));
}

}  // namespace

Result<Trace> decode_trace(const std::string& name, std::vector<std::uint8_t> bytes,
                           const TraceReadOptions& options) {
  const std::string extension = extension_of(name);
  RAILWAVE_TRY(check_extension(name, extension));
  if (extension == ".csv") {
    return parse_counts_csv(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                            options.task);
  }
  const auto raw = raw_element_type(extension);
  ArrayFile file{name, std::move(bytes), 0, raw.value_or(ElementType{}), {}};
  return raw ? raw_trace(std::move(file), options) : npy_trace(std::move(file), options);
}

Result<Trace> read_trace(const std::string& path, const TraceReadOptions& options) {
  TraceReadOptions chosen = options;
  std::string name;
  std::tie(name, chosen.task) = split_task(path, options.task);
  // Before the file is read, which may take long.
  RAILWAVE_TRY(check_extension(name, extension_of(name)));
  auto bytes = read_file(name, options.max_bytes);
  if (!bytes) return fail(std::move(bytes).error());
  return decode_trace(name, std::move(*bytes), chosen);
}

}  // namespace railwave::workload
