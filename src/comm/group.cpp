#include "comm/group.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "combine_step.hpp"
#include "comm/group_settings.hpp"
#include "dispatch_step.hpp"
#include "rail_addresses.hpp"
#include "step_mover.hpp"

namespace railwave::comm {

using exec::Operation;
using exec::StepHeader;

/// Marks the group as in use for the time of one call.
class Group::Call {
 public:
  explicit Call(Group& group) : group_(group), entered_(!group.busy_.exchange(true)) {}
  ~Call() {
    if (entered_) group_.busy_.store(false);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  [[nodiscard]] Status admitted() const {
    if (!entered_) {
      return fail(ErrorCode::InvalidArgument, group_.options_.self, "group",
                  "another thread is in a call of this group; make calls one after the other or "
                  "use a group per thread");
    }
    if (auto why = group_.mover_->ended()) return fail(*std::move(why));
    return {};
  }

 private:
  Group& group_;
  bool entered_;
};

Group::Group(const Topology& topology, const Placement& placement,
             const CommunicatorOptions& options)
    : shared_topology_(std::make_shared<const Topology>(topology)),
      topology_(*shared_topology_),
      placement_(placement),
      options_(options),
      limits_(limits_of(options)) {}

Result<std::unique_ptr<Group>> Group::create(const Topology& topology, const Placement& placement,
                                             const CommunicatorOptions& options, Wiring wiring) {
  const Deadline deadline = Clock::now() + options.deadlines.init;
  const Status own = check_settings(topology, placement, options);
  RAILWAVE_TRY(agree_on_settings(*wiring.all_gather, topology, placement, options, own, deadline));
  std::unique_ptr<Group> group(new Group(topology, placement, options));
  RAILWAVE_TRY(group->build(std::move(wiring)));
  group->mover_ = std::make_unique<StepMover>(*group->engine_, group->limits_.phases);
  return group;
}

Status Group::build(Wiring wiring) {
  const Deadline deadline = Clock::now() + options_.deadlines.init;
  const NodeId node = topology_.node_of(options_.self);
  for (int local = 0; local < topology_.ranks_at(node); ++local) {
    maps_.push_back(exec::SegmentMap::of(topology_, limits_, topology_.rank_at(node, local)));
  }
  const int local = topology_.local_of(options_.self);
  exec::RankEngine::Parts parts{topology_,         options_.self, wiring.job,
                                wiring.generation, nullptr,       {}};
  auto fabric = wiring.meet_node(maps_[static_cast<std::size_t>(local)].bytes, deadline);
  if (!fabric) {
    Error error = std::move(fabric).error();
    if (error.rank >= 0) error.rank = topology_.rank_at(node, error.rank).value;
    return fail(std::move(error));
  }
  parts.fabric = std::move(*fabric);
  for (int r = 0; r < topology_.rails(); ++r) {
    const auto drivers = topology_.drivers(node, RailId(r));
    parts.rails.emplace_back();
    // One node has nobody to reach by rail: nothing is opened.
    if (topology_.nodes() == 1 || !topology_.live(node, RailId(r)) ||
        std::find(drivers.begin(), drivers.end(), options_.self) == drivers.end()) {
      continue;
    }
    auto rail = wiring.open_rail(RailId(r));
    if (!rail) return fail(std::move(rail).error());
    parts.rails.back() = std::move(*rail);
  }
  all_gather_ = std::move(wiring.all_gather);
  auto engine = exec::RankEngine::create(std::move(parts));
  if (!engine) return fail(std::move(engine).error());
  engine_ = std::move(*engine);
  arena_ = std::make_shared<transport::SharedArena>(
      engine_->fabric().own().subspan(static_cast<std::size_t>(own_map().arena),
                                      static_cast<std::size_t>(own_map().bytes - own_map().arena)));
  headers_ = std::make_unique<exec::HeaderExchange>(*engine_, maps_);
  slots_ = std::make_unique<exec::SendSlots>(*engine_, limits_);
  engine_->set_control(headers_.get());
  return connect(deadline);
}

std::vector<std::vector<RankId>> Group::rail_peers() const {
  const NodeId node = topology_.node_of(options_.self);
  std::vector<std::vector<RankId>> peers(static_cast<std::size_t>(topology_.rails()));
  for (int n = 0; n < topology_.nodes(); ++n) {
    const NodeId other(n);
    if (other == node) continue;
    for (const RailId rail : topology_.eligible(node, other)) {
      const auto near = topology_.drivers(node, rail);
      const auto far = topology_.drivers(other, topology_.ingress(node, other, rail));
      for (std::size_t i = 0; i < near.size(); ++i) {
        if (near[i] != options_.self) continue;
        for (std::size_t j = 0; j < far.size(); ++j) {
          // Driver i sends to driver i mod n, and hears from every driver j with j mod n' = i.
          if (i % far.size() == j || j % near.size() == i) peers[rail.index()].push_back(far[j]);
        }
      }
    }
  }
  return peers;
}

Status Group::connect(Deadline deadline) {
  std::vector<std::vector<std::byte>> own(static_cast<std::size_t>(topology_.rails()));
  for (std::size_t r = 0; r < own.size(); ++r) {
    if (engine_->drives(RailId(r))) own[r] = engine_->rail(RailId(r)).address();
  }
  const auto all = all_gather_->all_gather(pack_addresses(own), deadline);
  if (!all) return fail(all.error());
  const NodeId node = topology_.node_of(options_.self);
  const auto peers = rail_peers();
  std::size_t senders = 0;
  for (const auto& of_rail : peers) senders += of_rail.size();
  engine_->expect_early(senders * static_cast<std::size_t>(limits_.send_slots),
                        static_cast<std::size_t>(exec::largest_frame(limits_)));
  for (std::size_t r = 0; r < peers.size(); ++r) {
    for (const RankId peer : peers[r]) {
      const auto theirs = unpack_addresses((*all)[peer.index()], topology_.rails(), peer);
      if (!theirs) return fail(theirs.error());
      const RailId far = topology_.ingress(node, topology_.node_of(peer), RailId(r));
      RAILWAVE_TRY(engine_->rail(RailId(r)).connect(peer, (*theirs)[far.index()]));
    }
  }
  return headers_->greet(peers, deadline);
}

Group::~Group() {
  if (!mover_) return;  // it was not built: there is nobody to say farewell to
  mover_->stop();
  if (!mover_->ended()) leave();
}

void Group::leave() {
  // A rank that goes while others still read its rows or wait for its frames would fail their step.
  // Nobody leaves in peace before this rank has said that it leaves: a loss until here is a
  // failure.
  if (!engine_->progress()) return;
  // The first to hear of everyone go while the others are still about to, so a loss is no news.
  engine_->expect_departures();
  StepHeader header;
  header.operation = Operation::Leave;
  header.step = ++step_;
  (void)headers_->exchange(header, Clock::now() + std::chrono::seconds(2));
}

std::shared_ptr<exec::Phase> Group::phase_before(std::uint64_t step) const {
  // One whose memory the step takes is over on every rank.
  const auto phases = static_cast<std::uint64_t>(limits_.phases);
  return newest_phase_ && newest_phase_->step() + phases > step ? newest_phase_ : nullptr;
}

tl::unexpected<Error> Group::out_of_memory() {
  const Error error{ErrorCode::Internal, options_.self.value, "memory",
                    fmt::format("there was no memory left to begin step {}", step_ + 1)};
  mover_->end(error);  // the other ranks take the step without this one
  return fail(error);
}

template <class Outcome, class NewStep, class Arguments>
Result<Outcome> Group::run(const Arguments& arguments) {
  const Call call(*this);
  RAILWAVE_TRY(call.admitted());
  try {
    NewStep step(*this, arguments, check(arguments));
    mover_->finish(step);
    return step.take();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

namespace {

/// A step with arguments of its own, whose caller has gone on. The base that holds them comes
/// first.
template <class Arguments>
struct OwnArguments {
  Arguments own_arguments;
};
template <class Kind, class Arguments>
class OwningStep : private OwnArguments<Arguments>, public Kind {
 public:
  OwningStep(Group& group, const Arguments& arguments, Status own)
      : OwnArguments<Arguments>{arguments},
        Kind(group, OwnArguments<Arguments>::own_arguments, std::move(own)) {}
};

}  // namespace

template <class Outcome, class NewStep, class Arguments>
Result<Ticket<Outcome>> Group::start(const Arguments& arguments) {
  const Call call(*this);
  RAILWAVE_TRY(call.admitted());
  RAILWAVE_TRY(mover_->be_ready());
  try {
    auto step =
        make_kept<OwningStep<NewStep, Arguments>>(memory_, *this, arguments, check(arguments));
    mover_->start(*step);  // the ticket waits for it before it goes
    return Ticket<Outcome>(std::move(step));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

Result<Received> Group::dispatch(const DispatchArguments& arguments) {
  return run<Received, DispatchStep>(arguments);
}

Result<PhaseReport> Group::combine(const CombineArguments& arguments) {
  return run<PhaseReport, CombineStep>(arguments);
}

Result<Ticket<Received>> Group::dispatch_async(const DispatchArguments& arguments) {
  return start<Received, DispatchStep>(arguments);
}

Result<Ticket<PhaseReport>> Group::combine_async(const CombineArguments& arguments) {
  return start<PhaseReport, CombineStep>(arguments);
}

Result<std::vector<std::vector<std::byte>>> Group::all_gather(std::span<const std::byte> mine) {
  const Call call(*this);
  RAILWAVE_TRY(call.admitted());
  auto all = all_gather_->all_gather(mine, Clock::now() + options_.deadlines.operation);
  if (!all && ends_group(all.error().code)) mover_->end(all.error());
  return all;
}

Result<SharedBuffer> Group::allocate(std::int64_t bytes) {
  auto block = arena_->take(bytes);
  if (!block) {
    Error error = std::move(block).error();
    error.rank = options_.self.value;
    return fail(std::move(error));
  }
  return SharedBuffer(arena_, *block);
}

WorkspaceSize Group::workspace() const { return {own_map().bytes, slots_->bytes()}; }

}  // namespace railwave::comm
