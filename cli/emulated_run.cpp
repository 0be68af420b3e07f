#include "emulated_run.hpp"

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/fail.hpp"
#include "cluster_report.hpp"
#include "end_signals.hpp"
#include "report/progress.hpp"
#include "run_environment.hpp"
#include "testbed/cluster.hpp"

namespace railwave::cli {
namespace {

/// How rank 0 tells the launcher how far it is: a line "<prefix>done total" on standard output.
constexpr const char* kProgressPrefix = "\x01progress ";

/// Passes the ranks' output on and turns rank 0's progress lines into a bar.
/// Threads: one of its own, until the writing end is closed.
class OutputReader {
 public:
  OutputReader(UniqueFd from, std::string label)
      : from_(std::move(from)), label_(std::move(label)), thread_([this] { read_all(); }) {}
  ~OutputReader() { thread_.join(); }
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

 private:
  void read_all() {
    const auto start = Clock::now();
    std::optional<report::Progress> progress;
    std::string rest;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(from_.get(), buffer, sizeof buffer)) > 0;) {
      rest.append(buffer, static_cast<std::size_t>(got));
      for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos;) {
        try {
          take(rest.substr(0, end), start, progress);
        } catch (const std::system_error&) {
          // Standard output remembers that it failed, and main() says so.
        }
        rest.erase(0, end + 1);
      }
    }
  }

  void take(const std::string& line, Clock::time_point start,
            std::optional<report::Progress>& progress) const {
    const std::string prefix = kProgressPrefix;
    if (line.rfind(prefix, 0) != 0) {
      progress.reset();
      fmt::print("{}\n", line);
      std::fflush(stdout);
      return;
    }
    long long done = 0;
    long long total = 0;
    if (std::sscanf(line.c_str() + prefix.size(), "%lld %lld", &done, &total) != 2) return;
    if (!progress) progress.emplace(report::Progress::Options{label_, total, 2}, start);
    progress->update(done, Clock::now());
  }

  UniqueFd from_;
  std::string label_;
  std::thread thread_;
};

/// The words of this very command, for the ranks.
std::vector<std::string> own_command() {
  std::vector<std::string> words;
  std::FILE* file = std::fopen("/proc/self/cmdline", "re");
  if (file == nullptr) return words;
  std::string word;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c != 0) {
      word += static_cast<char>(c);
      continue;
    }
    words.push_back(std::exchange(word, {}));
  }
  std::fclose(file);
  std::error_code none;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!words.empty() && !none) words.front() = self.string();
  return words;
}

}  // namespace

void say_progress(std::int64_t done, std::int64_t total) {
  fmt::print("{}{} {}\n", kProgressPrefix, done, total);
  std::fflush(stdout);
}

namespace {

/// Checks the rails and hands the verdict to the ranks. Inside one node there is nothing to check.
Status pass_gate(testbed::Cluster& cluster, testbed::RunOptions& run) {
  const auto gate = cluster.gate();
  if (!gate) return fail(gate.error());
  fmt::print(stderr, "# gate: {}\n", gate->sentence());
  if (!gate->shaping_works) {
    return fail(ErrorCode::Unsupported, "gate", "the rails do not limit: " + gate->sentence());
  }
  run.env[kGateVariable] = fmt::format("{:.6f} {:.6f}", gate->lowest_share, gate->lone_time);
  return {};
}

}  // namespace

Result<int> run_on_emulated(const EmulatedRun& options) {
  EndSignals signals;
  auto cluster = testbed::Cluster::start(options.spec);
  if (!cluster) return fail(cluster.error());
  const bool rails = options.spec.nodes() > 1;
  if (rails) fmt::print(stderr, "{}", topology_text(options.spec));
  testbed::RunOptions run;
  if (rails && options.gate) RAILWAVE_TRY(pass_gate(*cluster, run));
  run.argv = own_command();
  run.cancel_fd = signals.descriptor();
  run.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(options.timeout));
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::ResourceExhausted, "pipe", "no pipe for the ranks' output");
  }
  std::optional<OutputReader> reader(std::in_place, UniqueFd(ends[0]), options.label);
  std::optional<UniqueFd> writer(std::in_place, ends[1]);
  run.stdout_fd = writer->get();
  const auto outcome = cluster->run(run);
  writer.reset();
  reader.reset();
  if (!outcome) return fail(outcome.error());
  if (rails) fmt::print(stderr, "{}", losses_line(outcome->traffic));
  if (!outcome->message.empty()) fmt::print(stderr, "railwave: {}\n", outcome->message);
  if (outcome->cancelled) return 128 + signals.arrived();
  return outcome->exit_status;
}

}  // namespace railwave::cli
