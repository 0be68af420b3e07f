#include "testbed/cluster.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/fail.hpp"
#include "guardian.hpp"
#include "message.hpp"
#include "testbed/emulation_limits.hpp"

namespace railwave::testbed {
namespace {

constexpr auto kStartTime = std::chrono::seconds(60);
constexpr auto kRequestTime = std::chrono::seconds(60);
constexpr auto kDefaultRunTime = std::chrono::seconds(60);
constexpr auto kLongestRunTime = std::chrono::hours(24 * 365);
/// What ending the ranks may take after a deadline, before the whole cluster is given up.
constexpr auto kEndTime = std::chrono::seconds(15);

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> out;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (added.count(text.substr(0, text.find('='))) == 0) out.push_back(text);
  }
  for (const auto& [name, value] : added) out.push_back(name + "=" + value);
  return out;
}

std::string current_directory() {
  char* path = ::get_current_dir_name();
  std::string out = path == nullptr ? "/" : path;
  std::free(path);
  return out;
}

}  // namespace

struct Cluster::State {
  ClusterSpec spec;
  Guardian guardian;
  std::mutex requests;  // one request and its answer at a time

  ~State() { end_guardian(guardian); }

  template <class T>
  Result<T> ask(Request request, std::array<std::int64_t, 4> values = {}) {
    FieldWriter fields;
    fields.put(static_cast<std::int64_t>(request));
    for (const auto value : values) fields.put(value);
    const std::lock_guard lock(requests);
    RAILWAVE_TRY(send_message(guardian.requests.get(), fields.bytes()));
    const auto answer = receive_message(guardian.requests.get(), Clock::now() + kRequestTime);
    if (!answer) return fail(answer.error());
    return read_answer<T>(answer->bytes);
  }

  Status wait_for_end(Deadline deadline, int cancel_fd);
};

Result<Cluster> Cluster::start(const ClusterSpec& spec) {
  RAILWAVE_TRY(validate(spec));
  RAILWAVE_TRY(check_emulation(spec));
  auto guardian = start_guardian(spec);
  if (!guardian) return fail(guardian.error());
  auto state = std::make_unique<State>();
  state->spec = spec;
  state->guardian = *std::move(guardian);
  const auto answer = receive_message(state->guardian.runs.get(), Clock::now() + kStartTime);
  if (!answer) return fail(answer.error());
  RAILWAVE_TRY(read_answer<void>(answer->bytes));
  return Cluster(std::move(state));
}

Cluster::Cluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;
Cluster::~Cluster() = default;

const ClusterSpec& Cluster::spec() const { return state_->spec; }

/// Returns when an answer can be read; passes a cancellation on once.
Status Cluster::State::wait_for_end(Deadline deadline, int cancel_fd) {
  constexpr std::uint64_t kAnswer = 0;
  constexpr std::uint64_t kCancel = 1;
  auto loop = EventLoop::create();
  if (!loop) return fail(loop.error());
  RAILWAVE_TRY(loop->watch(guardian.runs.get(), kAnswer));
  if (cancel_fd >= 0) RAILWAVE_TRY(loop->watch(cancel_fd, kCancel));
  for (;;) {
    const auto tags = loop->wait(deadline);
    if (!tags) return fail(tags.error());
    if (std::find(tags->begin(), tags->end(), kAnswer) != tags->end()) return {};
    if (tags->empty()) {
      end_guardian(guardian);
      return fail(ErrorCode::Timeout, "run",
                  "the ranks could not be ended in time; the cluster was given up");
    }
    FieldWriter cancel;
    cancel.put(static_cast<std::int64_t>(Request::cancel));
    RAILWAVE_TRY(send_message(guardian.runs.get(), cancel.bytes()));
    RAILWAVE_TRY(loop->unwatch(cancel_fd));
    deadline = std::min(deadline, Clock::now() + kEndTime);
  }
}

Result<RunOutcome> Cluster::run(const RunOptions& options) {
  if (options.argv.empty()) {
    return fail(ErrorCode::InvalidArgument, "argv", "a command is needed");
  }
  const auto deadline = options.deadline == Deadline{}
                            ? Clock::now() + kDefaultRunTime
                            : std::min(options.deadline, Clock::now() + kLongestRunTime);
  FieldWriter fields;
  fields.put(static_cast<std::int64_t>(Request::run));
  fields.put(options.argv);
  fields.put(environment_with(options.env));
  fields.put(std::string_view(current_directory()));
  fields.put(static_cast<std::int64_t>(options.tag_output));
  fields.put(static_cast<std::int64_t>(deadline.time_since_epoch().count()));
  const std::array<int, 2> outputs{options.stdout_fd, options.stderr_fd};
  const int socket = state_->guardian.runs.get();
  RAILWAVE_TRY(send_message(socket, fields.bytes(), outputs));
  RAILWAVE_TRY(state_->wait_for_end(deadline + kEndTime, options.cancel_fd));
  const auto answer = receive_message(socket, Clock::now() + kRequestTime);
  if (!answer) return fail(answer.error());
  return read_answer<RunOutcome>(answer->bytes);
}

Result<Counters> Cluster::counters() { return state_->ask<Counters>(Request::counters); }

Result<GateResult> Cluster::gate() { return state_->ask<GateResult>(Request::gate); }

Status Cluster::set_rail_up(NodeId node, RailId rail, bool up) {
  return state_->ask<void>(Request::rail_up, {node.value, rail.value, up});
}

Status Cluster::set_rail_rate(NodeId node, RailId rail, std::int64_t rate) {
  return state_->ask<void>(Request::rail_rate, {node.value, rail.value, rate});
}

Status Cluster::set_rail_cut(NodeId node, RailId rail, Direction direction, bool cut) {
  return state_->ask<void>(Request::rail_cut,
                           {node.value, rail.value, static_cast<std::int64_t>(direction), cut});
}

Status Cluster::kill_node(NodeId node) {
  return state_->ask<void>(Request::node_up, {node.value, 0});
}

Status Cluster::plug_node(NodeId node) {
  return state_->ask<void>(Request::node_up, {node.value, 1});
}

Status Cluster::signal_rank(RankId rank, int signal) {
  return state_->ask<void>(Request::signal_rank, {rank.value, signal});
}

Status supported() {
  const auto tiny = Cluster::start(uniform_cluster(2, 1, 1));
  if (!tiny) return fail(tiny.error());
  return {};
}

}  // namespace railwave::testbed
