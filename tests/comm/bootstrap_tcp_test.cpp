#include <fmt/format.h>

#include "comm/all_gather_contract.hpp"
#include "comm/tcp_ranks.hpp"

namespace railwave::comm {
namespace {

Gathers meet_in_threads(int ranks) {
  const std::uint16_t port = free_port();
  Gathers gathers(static_cast<std::size_t>(ranks));
  in_threads(ranks, [&](std::size_t rank) {
    auto met = meet_over_tcp(tcp_options(static_cast<int>(rank), ranks, port));
    EXPECT_TRUE(met) << to_string(met.error());
    if (met) gathers[rank] = std::move(*met);
  });
  return gathers;
}

INSTANTIATE_TEST_SUITE_P(Tcp, AllGatherContract, testing::Values(GatherMaker(meet_in_threads)));

TEST(TcpBootstrap, SixtyFourRanksMeet) {
  Gathers gathers = meet_in_threads(64);
  std::vector<std::size_t> sizes(64);
  in_threads(64, [&](std::size_t rank) {
    const auto got = gathers[rank]->all_gather(Bytes(rank * 100), Clock::now() + seconds(20));
    if (got) sizes[rank] = got->at(63).size();
  });
  EXPECT_THAT(sizes, testing::Each(6300U));
}

TEST(TcpBootstrap, AnyRankMayStartLate) {
  for (const std::size_t late : {0U, 3U}) {
    const std::uint16_t port = free_port();
    std::array<bool, 4> met{};
    in_threads(4, [&](std::size_t rank) {
      if (rank == late) pass_time(milliseconds(700));
      met[rank] = meet_over_tcp(tcp_options(static_cast<int>(rank), 4, port)).has_value();
    });
    EXPECT_THAT(met, testing::Each(true)) << "late: " << late;
  }
}

TEST(TcpBootstrap, EveryRankNamesTheMissingAndTheLateOneGetsAnError) {
  constexpr milliseconds kInit(700);
  const std::uint16_t port = free_port();
  std::array<Status, 4> outcomes;
  const auto start = Clock::now();
  in_threads(3, [&](std::size_t rank) {
    auto met = meet_over_tcp(tcp_options(static_cast<int>(rank), 4, port, kInit));
    if (!met) outcomes[rank] = tl::unexpected<Error>(met.error());
  });
  EXPECT_GE(Clock::now() - start, kInit);
  EXPECT_LT(Clock::now() - start, kInit + seconds(2));
  for (int rank = 0; rank < 3; ++rank) {
    const Status& outcome = outcomes[static_cast<std::size_t>(rank)];
    ASSERT_FALSE(outcome) << rank;
    EXPECT_EQ(outcome.error().code, ErrorCode::Timeout);
    EXPECT_EQ(outcome.error().rank, 3);
    EXPECT_THAT(outcome.error().message, testing::HasSubstr("[3]"));
  }
  const auto come = Clock::now();
  const auto late = meet_over_tcp(tcp_options(3, 4, port, kInit));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Timeout);
  EXPECT_EQ(late.error().rank, 0);
  EXPECT_LT(Clock::now() - come, kInit + seconds(2));
}

TEST(TcpBootstrap, SeveralMissingRanksAreListed) {
  const auto met = meet_over_tcp(tcp_options(0, 4, free_port(), milliseconds(50)));
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().rank, 1);
  EXPECT_THAT(met.error().message, testing::HasSubstr("[1,2,3]"));
}

TEST(TcpBootstrap, ATakenPortIsNamed) {
  std::uint16_t port = 0;
  const UniqueFd squatter = listen_anywhere(port);
  const auto start = Clock::now();
  const auto met = meet_over_tcp(tcp_options(0, 2, port));
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(met.error().message, testing::HasSubstr(fmt::format("127.0.0.1:{}", port)));
  EXPECT_LT(Clock::now() - start, seconds(5));
}

TEST(TcpBootstrap, APortThatClearsSoonIsUsed) {
  std::uint16_t port = 0;
  UniqueFd earlier_job = listen_anywhere(port);
  std::thread ending([&] {
    pass_time(milliseconds(200));
    earlier_job = UniqueFd();
  });
  const auto rank_0 = meet_over_tcp(tcp_options(0, 2, port, milliseconds(600)));
  ending.join();
  ASSERT_FALSE(rank_0);
  EXPECT_EQ(rank_0.error().code, ErrorCode::Timeout) << "it listened, and rank 1 did not come";
}

TEST(TcpBootstrap, AnAddressOfAnotherHostCanNotBeListenedOn) {
  auto options = tcp_options(0, 2, free_port());
  options.identity.address = "192.0.2.1";  // TEST-NET-1
  const auto met = meet_over_tcp(options);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(met.error().field, "address");
  EXPECT_THAT(met.error().message, testing::HasSubstr("192.0.2.1:"));
}

TEST(TcpBootstrap, ListensOnlyOnTheGivenAddress) {
  const std::uint16_t port = free_port();
  std::thread host([&] { EXPECT_TRUE(meet_over_tcp(tcp_options(0, 2, port))); });
  EXPECT_TRUE(stranger(port));
  const UniqueFd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port, INADDR_LOOPBACK + 1);
  EXPECT_NE(::connect(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
            0);
  EXPECT_TRUE(meet_over_tcp(tcp_options(1, 2, port)));
  host.join();
}

TEST(TcpBootstrap, SomethingElseThatListensThereIsToldApart) {
  std::uint16_t port = 0;
  const UniqueFd listener = listen_anywhere(port);
  std::thread server([&] {
    const UniqueFd client(::accept(listener.get(), nullptr, nullptr));
    say(client, std::string_view("HTTP/1.0 400 Bad Request\r\n\r\n"));
    EXPECT_TRUE(readable(client.get(), 5000));
  });
  const auto met = meet_over_tcp(tcp_options(1, 2, port));
  server.join();
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, ErrorCode::ProtocolViolation);
  EXPECT_THAT(met.error().message, testing::HasSubstr(fmt::format("127.0.0.1:{}", port)));
}

TEST(TcpBootstrap, AListenerThatNeverAnswersCostsTheDeadlineOnly) {
  std::uint16_t port = 0;
  const UniqueFd listener = listen_anywhere(port);
  const auto start = Clock::now();
  const auto met = meet_over_tcp(tcp_options(1, 2, port, milliseconds(200)));
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, ErrorCode::Timeout);
  EXPECT_EQ(met.error().rank, 0);
  EXPECT_LT(Clock::now() - start, seconds(3));
}

TEST(TcpBootstrap, OneRankNeedsNoSocket) {
  auto options = tcp_options(0, 1, 0);
  options.identity.address = "no such host";
  const auto met = meet_over_tcp(options);
  ASSERT_TRUE(met);
  const auto got = (*met)->all_gather(Bytes(5), Clock::now() + seconds(1));
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, std::vector<Bytes>{Bytes(5)});
}

TEST(TcpBootstrap, RefusesBadIdentities) {
  const auto field_of = [](const TcpBootstrapOptions& options) {
    const auto met = meet_over_tcp(options);
    if (met) return std::string("met");
    EXPECT_EQ(met.error().code, ErrorCode::InvalidArgument);
    return met.error().field;
  };
  EXPECT_EQ(field_of(tcp_options(0, 0, 1)), "world_size");
  EXPECT_EQ(field_of(tcp_options(-1, 2, 1)), "rank");
  EXPECT_EQ(field_of(tcp_options(2, 2, 1)), "rank");
  EXPECT_EQ(field_of(tcp_options(1, 2, 0)), "port");
  auto nowhere = tcp_options(1, 2, 1);
  nowhere.identity.address = "not a host";
  EXPECT_EQ(field_of(nowhere), "address");
}

}  // namespace
}  // namespace railwave::comm
