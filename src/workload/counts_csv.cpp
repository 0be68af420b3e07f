#include "counts_csv.hpp"

#include <charconv>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "array_file.hpp"
#include "base/fail.hpp"

namespace railwave::workload {
namespace {

/// Takes the text up to `separator` off the front of `rest`; none when `rest` is used up.
std::optional<std::string_view> take(std::optional<std::string_view>& rest, char separator) {
  if (!rest) return std::nullopt;
  const std::size_t end = rest->find(separator);
  const std::string_view part = rest->substr(0, end);
  if (end == std::string_view::npos) {
    rest.reset();
  } else {
    rest = rest->substr(end + 1);
  }
  return part;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// The last number that a line's layer may have.
constexpr std::int64_t kLastLayer = std::numeric_limits<std::int32_t>::max();

class CountsCsv {
 public:
  CountsCsv(std::string_view path, std::string_view text, std::string_view task)
      : path_(path), rest_(text), wanted_(task) {}

  Result<Trace> parse() {
    RAILWAVE_TRY(header());
    while (auto line = next_line()) {
      if (!line->empty()) RAILWAVE_TRY(row(*line));
    }
    RAILWAVE_TRY(check_task());
    auto trace = Trace::from_counts({layers_, 1, experts_}, std::move(counts_));
    if (!trace) return trace_error(path_, trace.error().message);
    return trace;
  }

 private:
  std::optional<std::string_view> next_line() {
    auto line = take(rest_, '\n');
    if (line && line->ends_with('\r')) line->remove_suffix(1);
    ++line_;
    return line;
  }
  [[nodiscard]] tl::unexpected<Error> wrong(const std::string& sentence) const {
    return trace_error(path_, fmt::format("line {}: {}", line_, sentence));
  }

  Status header() {
    std::optional<std::string_view> cells = next_line();
    auto cell = take(cells, ',');
    has_task_ = cell == "task" || cell == "batch";
    if (has_task_) cell = take(cells, ',');
    if (cell != "layer")
      return wrong("expected the header task,layer,e0,e1,... or layer,e0,e1,...");
    while ((cell = take(cells, ','))) {
      if (*cell != fmt::format("e{}", experts_)) {
        return wrong(fmt::format("expected column e{}, found '{}'", experts_, *cell));
      }
      ++experts_;
    }
    if (experts_ == 0) return wrong("expected at least the column e0");
    return {};
  }

  Status row(std::string_view line) {
    std::optional<std::string_view> cells = line;
    const std::string_view task = has_task_ ? *take(cells, ',') : std::string_view{};
    if (tasks_.empty() || tasks_.back() != task) {
      if (!seen_.insert(task).second) {
        return wrong(fmt::format("task '{}' again after another", task));
      }
      tasks_.push_back(task);
      next_layer_.reset();
    }
    const auto layer = number(take(cells, ',').value_or(""));
    if (!layer) return wrong("expected a layer number");
    if (*layer > kLastLayer) return wrong(fmt::format("expected a layer up to {}", kLastLayer));
    if (next_layer_ && layer != next_layer_) {
      return wrong(fmt::format("expected layer {}, found {}", *next_layer_, *layer));
    }
    next_layer_ = *layer + 1;
    const bool wanted = !has_task_ || wanted_.empty() ? tasks_.size() == 1 : task == wanted_;
    layers_ += wanted ? 1 : 0;
    return row_counts(cells, wanted);
  }

  Status row_counts(std::optional<std::string_view> cells, bool wanted) {
    for (int e = 0; e < experts_; ++e) {
      const auto cell = take(cells, ',');
      const auto count = cell ? number(*cell) : std::nullopt;
      if (!count) {
        return wrong(fmt::format("column e{}: expected a count, found '{}'", e,
                                 cell.value_or("the end of the line")));
      }
      if (wanted) counts_.push_back(*count);
    }
    if (cells) return wrong(fmt::format("more than {} counts", experts_));
    return {};
  }

  Status check_task() const {
    if (tasks_.empty()) return wrong("expected at least one row");
    if (wanted_.empty() && tasks_.size() == 1) return {};
    if (!wanted_.empty() && !has_task_) {
      return trace_error(path_,
                         fmt::format("has no task column, task '{}' was asked for", wanted_));
    }
    if (layers_ > 0 && !wanted_.empty()) return {};
    const auto shown = std::vector(
        tasks_.begin(), tasks_.begin() + std::min<std::ptrdiff_t>(8, std::ssize(tasks_)));
    return trace_error(path_,
                       fmt::format("{}; it has {}{}; choose one as FILE:TASK",
                                   wanted_.empty() ? std::string("has several tasks")
                                                   : fmt::format("has no task '{}'", wanted_),
                                   fmt::join(shown, ", "), tasks_.size() > 8 ? ", ..." : ""));
  }

  std::string_view path_;
  std::optional<std::string_view> rest_;
  std::string_view wanted_;
  std::int64_t line_ = 0;
  bool has_task_ = false;
  int experts_ = 0;
  int layers_ = 0;
  std::vector<std::string_view> tasks_;          // in the order of the file
  std::unordered_set<std::string_view> seen_{};  // the same, for files of very many
  std::optional<std::int64_t> next_layer_;
  std::vector<std::int64_t> counts_;
};

}  // namespace

Result<Trace> parse_counts_csv(std::string_view path, std::string_view text,
                               std::string_view task) {
  return CountsCsv(path, text, task).parse();
}

}  // namespace railwave::workload
