// Phases that do not wait, and replicas, through the C interface, on an emulated cluster.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "comm/c_api/side.hpp"
#include "comm/cases/on_cluster.hpp"
#include "testbed/emulated_cluster.hpp"

namespace c_api {
namespace {

Ticket start(const Side& side, const railwave_dispatch_config& config) {
  railwave_ticket* ticket = nullptr;
  EXPECT_EQ(railwave_dispatch_async(side.group.get(), &config, &ticket), RAILWAVE_SUCCESS)
      << railwave_last_error()->sentence;
  return Ticket(ticket);
}

Received received_of(const Ticket& ticket) {
  railwave_received* received = nullptr;
  EXPECT_EQ(railwave_ticket_received(ticket.get(), -1, &received), RAILWAVE_SUCCESS)
      << railwave_last_error()->sentence;
  return Received(received);
}

/// Experts and all of two micro-batches, with their phases under way at once; handles and rows that
/// come out are those of calls that wait.
void two_batches(cases::Rank& rank, const std::vector<std::string>&) {
  const Side side(rank.self.value, 2);
  auto config = side.input();
  config.layout = RAILWAVE_EXPERT_MAJOR;
  config.expert_alignment = 4;
  const Ticket first = start(side, config);
  const Ticket second = start(side, config);
  std::array<std::vector<float>, 2> out;
  std::array<Received, 2> received{received_of(first), received_of(second)};
  std::array<Handle, 2> handles;
  std::array<Ticket, 2> back;
  for (std::size_t i = 0; i < 2; ++i) {
    const railwave_rows rows = rows_of(received[i]);
    expect_groups(side, rows);
    handles[i] = handle_of(received[i]);
    EXPECT_EQ(railwave_handle_rows(handles[i].get()), rows.rows);
    out[i].assign(kTokens * kHidden, -1.0F);
    auto combine = sized<railwave_combine_config>();
    combine.handle = handles[i].get();
    combine.x = rows.x;
    combine.rows = rows.rows;
    combine.hidden = kHidden;
    combine.dtype = RAILWAVE_FP32;
    combine.out = out[i].data();
    railwave_ticket* ticket = nullptr;
    ASSERT_EQ(railwave_combine_async(side.group.get(), &combine, &ticket), RAILWAVE_SUCCESS);
    back[i] = Ticket(ticket);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    std::array<std::int64_t, 2> sent{-1, -1};
    auto report = sized<railwave_phase_report>();
    report.sent_bytes = sent.data();
    ASSERT_EQ(railwave_ticket_combined(back[i].get(), 10'000, i == 0 ? &report : nullptr),
              RAILWAVE_SUCCESS)
        << railwave_last_error()->sentence;
    EXPECT_EQ(std::min(sent[0], sent[1]) >= 0, i == 0) << "the second one wanted no report";
    for (int token = 0; token < kTokens; ++token) {
      EXPECT_EQ(out[i][static_cast<std::size_t>(token * kHidden)],
                static_cast<float>(kTopK) * value_of(side.rank, token));
    }
  }
}

/// Rank 1 comes when the others have seen that a ticket is not ready: they meet in another group.
void waits(cases::Rank& rank, const std::vector<std::string>&) {
  const Side side(rank.self.value);
  const Side meeting(rank.self.value);
  const bool late = side.rank == 1;
  Ticket ticket;
  if (!late) {
    ticket = start(side, side.input());
    railwave_received* none = nullptr;
    EXPECT_EQ(railwave_ticket_done(ticket.get()), 0);
    EXPECT_EQ(railwave_ticket_received(ticket.get(), 20, &none), RAILWAVE_TIMEOUT);
    EXPECT_STREQ(railwave_last_error()->field, "ticket");
    EXPECT_EQ(none, nullptr);
  }
  meeting.expect_works();
  if (late) ticket = start(side, side.input());
  std::int32_t fd = -1;
  ASSERT_EQ(railwave_ticket_fd(ticket.get(), &fd), RAILWAVE_SUCCESS);
  pollfd event{fd, POLLIN, 0};
  EXPECT_EQ(::poll(&event, 1, 10'000), 1);
  EXPECT_EQ(railwave_ticket_done(ticket.get()), 1);
  auto report = sized<railwave_phase_report>();
  EXPECT_EQ(railwave_ticket_combined(ticket.get(), -1, &report), RAILWAVE_INVALID_ARGUMENT)
      << "it is a dispatch";
  EXPECT_NE(received_of(ticket), nullptr);
  EXPECT_EQ(railwave_ticket_done(ticket.get()), 0);
  EXPECT_EQ(railwave_ticket_fd(ticket.get(), &fd), RAILWAVE_INVALID_ARGUMENT);
  railwave_received* again = nullptr;
  EXPECT_EQ(railwave_ticket_received(ticket.get(), -1, &again), RAILWAVE_INVALID_ARGUMENT);
  EXPECT_EQ(again, nullptr);
  { const Ticket dropped = start(side, side.input()); }  // waits
  side.expect_works();
}

void wrong_calls(cases::Rank& rank, const std::vector<std::string>&) {
  const Side side(rank.self.value);
  railwave_ticket* ticket = nullptr;
  railwave_received* received = nullptr;
  const auto good = side.input();
  // Rank 1's config is none: it is told at once, the others by their tickets.
  if (side.rank == 1) {
    EXPECT_EQ(railwave_dispatch_async(side.group.get(), nullptr, &ticket),
              RAILWAVE_INVALID_ARGUMENT);
    EXPECT_EQ(ticket, nullptr);
  } else {
    const Ticket theirs = start(side, good);
    EXPECT_EQ(railwave_ticket_received(theirs.get(), -1, &received), RAILWAVE_PEER_REJECTED);
    EXPECT_EQ(railwave_last_error()->rank, 1);
  }
  // Its routing is wrong: that is the outcome of its ticket.
  std::vector<std::int64_t> idx = side.topk_idx;
  if (side.rank == 1) idx[2] = 1000;
  auto config = side.input();
  config.topk_idx = idx.data();
  const Ticket wrong = start(side, config);
  EXPECT_EQ(railwave_ticket_received(wrong.get(), -1, &received),
            side.rank == 1 ? RAILWAVE_INVALID_ARGUMENT : RAILWAVE_PEER_REJECTED);
  EXPECT_EQ(railwave_dispatch_async(nullptr, &good, &ticket), RAILWAVE_INVALID_ARGUMENT);
  EXPECT_EQ(railwave_ticket_received(nullptr, 0, &received), RAILWAVE_INVALID_ARGUMENT);
  EXPECT_EQ(railwave_ticket_done(nullptr), 0);
  EXPECT_EQ(railwave_ticket_fd(nullptr, nullptr), RAILWAVE_INVALID_ARGUMENT);
  railwave_ticket_destroy(nullptr);
  side.expect_works();
}

void on_cluster(const char* body) {
  RAILWAVE_START_CLUSTER(cluster, railwave::testbed::uniform_cluster(2, 2, 2));
  cases::run_on_cluster(cluster, {body, {}});
}

TEST(CTickets, TwoBatchesUnderWay) { on_cluster("two_batches"); }
TEST(CTickets, WaitPollAndDescriptor) { on_cluster("waits"); }
TEST(CTickets, WrongCalls) { on_cluster("wrong_calls"); }

TEST(CPlacement, Replicas) {
  const std::array<std::int32_t, 4> owner{0, 1, 0, 1};
  const std::array<std::int32_t, 4> logical{0, 0, 1, 2};
  railwave_placement* made = nullptr;
  ASSERT_EQ(railwave_placement_replicated(owner.data(), logical.data(), 4, 2, &made),
            RAILWAVE_SUCCESS);
  const Placement placement(made);
  const std::array<std::int32_t, 4> gap{0, 0, 2, 2};
  EXPECT_EQ(railwave_placement_replicated(owner.data(), gap.data(), 4, 2, &made),
            RAILWAVE_INVALID_ARGUMENT);
  EXPECT_STREQ(railwave_last_error()->field, "logical");
  EXPECT_EQ(railwave_placement_replicated(owner.data(), nullptr, 4, 2, &made),
            RAILWAVE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace c_api

int main(int argc, char** argv) {
  return cases::run_tests_or_rank(argc, argv,
                                  {{"two_batches", c_api::two_batches},
                                   {"waits", c_api::waits},
                                   {"wrong_calls", c_api::wrong_calls}});
}
