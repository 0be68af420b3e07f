#include "switch_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "gate_run.hpp"
#include "job.hpp"
#include "message.hpp"
#include "network.hpp"

namespace railwave::testbed {
namespace {

constexpr std::uint64_t kRuns = 1;
constexpr std::uint64_t kRequests = 2;
constexpr std::uint64_t kChildren = 3;
/// A message that has begun is read to its end; the owner writes it in one go.
constexpr auto kMessageTime = std::chrono::seconds(10);

/// Descriptors: four a node, three a rank. The soft limit is often 1024, the hard one is not.
/// Returns the limit as it was, for the ranks.
rlimit raise_descriptor_limit() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return before;
  rlimit limit = before;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

UniqueFd child_signals() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &child, nullptr);
  (void)std::signal(SIGCHLD, SIG_DFL);
  (void)std::signal(SIGPIPE, SIG_IGN);
  return UniqueFd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::string random_job() {
  std::random_device source;
  const std::uint64_t high = source();
  return fmt::format("{:016x}", high << 32 | source());
}

/// Everything else in the process namespace, however it was orphaned.
void kill_everything_else() {
  ::kill(-1, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

class Switch {
 public:
  Switch(ClusterSpec spec, SwitchSockets sockets, Network network, EventLoop loop,
         rlimit descriptor_limit)
      : spec_(std::move(spec)),
        descriptor_limit_(descriptor_limit),
        sockets_(std::move(sockets)),
        network_(std::move(network)),
        loop_(std::move(loop)) {}
  Status serve();

 private:
  /// False when the owner is gone.
  bool on_run_message();
  bool on_request();
  void on_children();
  Status start_job(Message message);
  void finish_job();
  std::string answer_request(const Message& message);
  Status change(Request request, FieldReader& fields);
  Status kill_or_plug(NodeId node, bool up);

  ClusterSpec spec_;
  rlimit descriptor_limit_;
  SwitchSockets sockets_;
  Network network_;
  EventLoop loop_;
  UniqueFd children_;
  std::unique_ptr<Job> job_;
  Counters before_;
  std::int64_t runs_ = 0;
};

Status Switch::serve() {
  children_ = child_signals();
  RAILWAVE_TRY(loop_.watch(sockets_.runs.get(), kRuns));
  RAILWAVE_TRY(loop_.watch(sockets_.requests.get(), kRequests));
  RAILWAVE_TRY(loop_.watch(children_.get(), kChildren));
  RAILWAVE_TRY(send_message(sockets_.runs.get(), answer(Status())));
  for (;;) {
    const auto idle = Clock::now() + std::chrono::hours(1);
    const auto tags = loop_.wait(job_ ? std::min(job_->next_deadline(), idle) : idle);
    if (!tags) return fail(tags.error());
    const std::vector<std::uint64_t> ready(tags->begin(), tags->end());
    on_children();
    for (const auto tag : ready) {
      if (tag == kRuns && !on_run_message()) return {};
      if (tag == kRequests && !on_request()) return {};
      if (tag >= Job::kRankExit && job_) job_->on_event(tag);
    }
    if (job_) job_->on_time();
    if (job_ && job_->ended()) finish_job();
  }
}

void Switch::on_children() {
  signalfd_siginfo ignored{};
  while (::read(children_.get(), &ignored, sizeof ignored) > 0) {
  }
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (job_) job_->reaped(pid, status);
  }
}

bool Switch::on_run_message() {
  auto message = receive_message(sockets_.runs.get(), Clock::now() + kMessageTime);
  if (!message) return false;
  if (static_cast<Request>(FieldReader(message->bytes).take_integer()) == Request::cancel) {
    if (job_) job_->cancel();
    return true;
  }
  const auto started = start_job(*std::move(message));
  if (started) return true;
  job_.reset();
  kill_everything_else();
  return send_message(sockets_.runs.get(), answer(started)).has_value();
}

Status Switch::start_job(Message message) {
  JobOptions options;
  FieldReader fields(message.bytes);
  fields.take_integer();
  fields.take(options.command.argv);
  fields.take(options.command.environment);
  fields.take(options.command.directory);
  options.tag_output = fields.take_integer() != 0;
  options.deadline = Deadline(Deadline::duration(fields.take_integer()));
  options.command.run = runs_++;
  options.command.job = random_job();
  options.command.descriptor_limit = descriptor_limit_;
  RAILWAVE_CHECK(message.descriptors.size() == 2, "%zu", message.descriptors.size());
  options.output = std::move(message.descriptors[0]);
  options.errors = std::move(message.descriptors[1]);
  auto before = network_.counters();
  if (!before) return fail(before.error());
  before_ = *std::move(before);
  auto job = Job::start(network_, spec_, loop_, std::move(options));
  if (!job) return fail(job.error());
  job_ = *std::move(job);
  return {};
}

void Switch::finish_job() {
  kill_everything_else();
  Result<RunOutcome> outcome = job_->finish();
  job_.reset();
  auto after = network_.counters();
  if (after) {
    outcome->traffic = since(before_, *after);
  } else {
    outcome = fail(after.error());
  }
  // When the owner is gone the next event says so.
  (void)send_message(sockets_.runs.get(), answer(outcome));
}

bool Switch::on_request() {
  const auto message = receive_message(sockets_.requests.get(), Clock::now() + kMessageTime);
  if (!message) return false;
  return send_message(sockets_.requests.get(), answer_request(*message)).has_value();
}

std::string Switch::answer_request(const Message& message) {
  FieldReader fields(message.bytes);
  const auto request = static_cast<Request>(fields.take_integer());
  if (request == Request::counters) return answer(network_.counters());
  if (request != Request::gate) return answer(change(request, fields));
  if (job_) {
    return answer(Result<GateResult>(
        fail(ErrorCode::InvalidArgument, "gate", "wait for the end of the run first")));
  }
  return answer(run_gate(network_, spec_));
}

Status Switch::change(Request request, FieldReader& fields) {
  const std::int64_t first = fields.take_integer();
  const std::int64_t second = fields.take_integer();
  const std::int64_t third = fields.take_integer();
  const std::int64_t fourth = fields.take_integer();
  const NodeId node(static_cast<std::int32_t>(first));
  const RailId rail(static_cast<std::int32_t>(second));
  switch (request) {
    case Request::rail_up:
      return network_.set_rail_up(node, rail, third != 0);
    case Request::rail_rate:
      return network_.set_rail_rate(node, rail, third);
    case Request::rail_cut:
      return network_.set_rail_cut(node, rail, static_cast<Direction>(third), fourth != 0);
    case Request::node_up:
      return kill_or_plug(node, second != 0);
    case Request::signal_rank: {
      const RankId rank(static_cast<std::int32_t>(first));
      if (job_) return job_->signal_rank(rank, static_cast<int>(second));
      return fail(ErrorCode::InvalidArgument, rank, "rank", "no run is going on");
    }
    default:
      return fail(ErrorCode::Internal, "request", "unknown request");
  }
}

Status Switch::kill_or_plug(NodeId node, bool up) {
  RAILWAVE_TRY(network_.set_node_up(node, up));
  if (up || !job_) return {};
  int first = 0;
  for (int n = 0; n < node.value; ++n) first += spec_.ranks_per_node[NodeId(n).index()];
  job_->kill_ranks(RankId(first), spec_.ranks_per_node[node.index()]);
  return {};
}

}  // namespace

void serve_as_switch(const ClusterSpec& spec, SwitchSockets sockets) {
  // Anywhere else the clean-up at the end would kill strangers.
  RAILWAVE_CHECK(::getpid() == 1);
  const int answers = sockets.runs.get();
  const auto served = [&]() -> Status {
    const rlimit descriptor_limit = raise_descriptor_limit();
    RAILWAVE_TRY(prepare_cluster_mounts());
    auto loop = EventLoop::create();
    if (!loop) return fail(loop.error());
    auto network = Network::build(spec);
    if (!network) return fail(network.error());
    Switch process(spec, std::move(sockets), *std::move(network), *std::move(loop),
                   descriptor_limit);
    return process.serve();
  }();
  if (!served) (void)send_message(answers, answer(served));
  kill_everything_else();
}

}  // namespace railwave::testbed
