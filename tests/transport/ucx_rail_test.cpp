// What only the UCX rail promises: typed refusals, junk on the wire, a quiet process.
#include "transport/ucx_rail.hpp"

#include <csignal>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include "transport/rank_group.hpp"

namespace railwave::transport::test {
namespace {

using namespace std::chrono_literals;

UcxRailOptions on(std::string device) {
  return {.self = RankId(0), .rail = RailId(0), .device = std::move(device)};
}

/// Sets a variable for one scope.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(UcxRail, NamesTheDeviceThatIsNotThere) {
  const auto rail = open_ucx_rail(on("nosuchdev0"));
  ASSERT_FALSE(rail);
  EXPECT_EQ(rail.error().code, ErrorCode::LinkDown);
  EXPECT_NE(rail.error().message.find("nosuchdev0"), std::string::npos);
}

TEST(UcxRail, NamesTheRdmaDeviceThatIsNotThere) {
  const auto rail = open_ucx_rail(on("mlx5_77:1"));
  ASSERT_FALSE(rail);
  EXPECT_EQ(rail.error().code, ErrorCode::LinkDown);
  EXPECT_NE(rail.error().message.find("mlx5_77:1"), std::string::npos);
}

TEST(UcxRail, RefusesAMalformedEnvironment) {
  const Setting setting("UCX_RNDV_THRESH", "banana");
  const auto rail = open_ucx_rail(on("lo"));
  ASSERT_FALSE(rail);
  EXPECT_EQ(rail.error().code, ErrorCode::InvalidArgument);
}

/// UCX from 1.17 on would end the process when a peer fails.
TEST(UcxRail, RefusesRendezvousWithoutARegistrationCache) {
  const char* events = std::getenv("UCX_MEM_EVENTS");
  if (events == nullptr || events != std::string("n")) {
    GTEST_SKIP() << "UCX has its registration cache: it was started without UCX_MEM_EVENTS=n";
  }
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  const Setting setting("UCX_RNDV_THRESH", "4096");
  const auto rail = open_ucx_rail(on("lo"));
  if (major == 1 && minor < 17) {
    EXPECT_TRUE(rail) << to_string(rail.error());
    return;
  }
  ASSERT_FALSE(rail);
  EXPECT_EQ(rail.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(rail.error().field, "UCX_RNDV_THRESH");
  const Setting off("UCX_RNDV_THRESH", "inf");
  EXPECT_TRUE(open_ucx_rail(on("lo")));
}

TEST(UcxRail, RefusesAPeerThatAcceptsOnlySmallerSegments) {
  auto large = UcxRailOptions(on("lo"));
  large.segment_bytes = 131072;
  auto sender = open_ucx_rail(large);
  auto receiver = open_ucx_rail(on("lo"));
  ASSERT_TRUE(sender);
  ASSERT_TRUE(receiver);
  Rank rank(RankId(0), std::move(*sender), Clock::now() + 5s, [] { return ""; });
  const Status refused = rank.rail().connect(RankId(1), (*receiver)->address());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().field, "segment_bytes");
  EXPECT_EQ(refused.error().rank, 1);
}

TEST(UcxRail, TheUsersSegmentSizeCounts) {
  const Setting setting("UCX_TCP_TX_SEG_SIZE", "96k");
  const Setting own("UCX_TCP_RX_SEG_SIZE", "96k");
  auto sender = open_ucx_rail(on("lo"));
  ASSERT_TRUE(sender) << to_string(sender.error());
  ::unsetenv("UCX_TCP_TX_SEG_SIZE");
  ::unsetenv("UCX_TCP_RX_SEG_SIZE");
  auto receiver = open_ucx_rail(on("lo"));
  ASSERT_TRUE(receiver);
  Rank rank(RankId(0), std::move(*sender), Clock::now() + 5s, [] { return ""; });
  EXPECT_FALSE(rank.rail().connect(RankId(1), (*receiver)->address()));
}

TEST(UcxRail, GivesTheHangUpSignalBack) {
  ASSERT_TRUE(open_ucx_rail(on("lo")));
  struct sigaction action {};
  ASSERT_EQ(::sigaction(SIGHUP, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST(UcxRail, WritesNothingToStdout) {
  testing::internal::CaptureStdout();
  EXPECT_FALSE(open_ucx_rail(on("nosuchdev0")));
  {
    const Setting setting("UCX_RNDV_THRESH", "banana");
    EXPECT_FALSE(open_ucx_rail(on("lo")));
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

class Buffered final : public RailBackend {
 public:
  std::unique_ptr<Rail> open(RankId rank) override {
    auto rail = open_ucx_rail({.self = rank,
                               .rail = RailId(0),
                               .device = "lo",
                               .send_buffer_bytes = 40'000,
                               .receive_buffer_bytes = 80'000});
    return rail ? std::move(*rail) : nullptr;
  }
};

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

/// Asks the kernel, because UCX ignores a setting under a wrong name without an error.
void expect_buffers(int send_bytes, int receive_bytes) {
  Buffered backend;
  run_ranks(backend, 2, [&](Rank& rank) {
    const RankId peer(1 - rank.self.value);
    EXPECT_TRUE(rank.send(rank.frame(peer, 0, 8)));
    if (!rank.until_arrived(1) || !rank.until_sent() || rank.self.value != 0) return;
    int sockets = 0;
    for (int fd = 0; fd < 200; ++fd) {
      sockaddr_in name{};
      socklen_t size = sizeof name;
      const auto out = reinterpret_cast<sockaddr*>(&name);
      if (::getpeername(fd, out, &size) != 0 || name.sin_family != AF_INET) continue;
      ++sockets;
      // The kernel doubles what is asked for.
      EXPECT_EQ(option(fd, SOL_SOCKET, SO_SNDBUF), 2 * send_bytes);
      EXPECT_EQ(option(fd, SOL_SOCKET, SO_RCVBUF), 2 * receive_bytes);
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    }
    EXPECT_GE(sockets, 1);
  });
}

TEST(UcxRail, TheSocketsHaveTheBuffersAskedFor) { expect_buffers(40'000, 80'000); }

TEST(UcxRail, TheUsersBuffersWin) {
  const Setting specific("UCX_TCP_SNDBUF", "50000");
  const Setting unread("UCX_RCVBUF", "60000");  // UCX itself does not read this one
  expect_buffers(50'000, 80'000);
}

TEST(UcxRail, RefusesNegativeSizes) {
  auto options = UcxRailOptions(on("lo"));
  options.segment_bytes = -1;
  const auto rail = open_ucx_rail(options);
  ASSERT_FALSE(rail);
  EXPECT_EQ(rail.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(rail.error().field, "segment_bytes");
}

/// A stranger who speaks UCX but no RailWave.
class Stranger {
 public:
  explicit Stranger(std::span<const std::byte> rail_address) {
    ucp_config_t* config = nullptr;
    EXPECT_EQ(ucp_config_read(nullptr, nullptr, &config), UCS_OK);
    EXPECT_EQ(ucp_config_modify(config, "NET_DEVICES", "lo"), UCS_OK);
    EXPECT_EQ(ucp_config_modify(config, "TLS", "tcp"), UCS_OK);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    EXPECT_EQ(ucp_init(&params, config, &context_), UCS_OK);
    ucp_config_release(config);
    const ucp_worker_params_t worker{};
    EXPECT_EQ(ucp_worker_create(context_, &worker, &worker_), UCS_OK);
    ucp_ep_params_t ep{};
    ep.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    constexpr std::size_t kSeal = 24;  // in front of UCX's own address
    ep.address = reinterpret_cast<const ucp_address_t*>(rail_address.subspan(kSeal).data());
    EXPECT_EQ(ucp_ep_create(worker_, &ep, &ep_), UCS_OK);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() {
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }

  void send(unsigned id, std::span<const std::byte> header, std::span<const std::byte> payload) {
    ucp_request_param_t param{};
    void* request = ucp_am_send_nbx(ep_, id, header.data(), header.size(), payload.data(),
                                    payload.size(), &param);
    EXPECT_FALSE(UCS_PTR_IS_ERR(request));
    if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
  }
  void progress() {
    while (ucp_worker_progress(worker_) != 0) {
    }
  }

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
};

TEST(UcxRail, CountsJunkAndLivesOn) {
  auto rail = open_ucx_rail(on("lo"));
  ASSERT_TRUE(rail);
  Rank rank(RankId(0), std::move(*rail), Clock::now() + 10s, [] { return ""; });
  const std::vector<std::byte> payload(500, std::byte{7});
  FrameHeader frame;
  frame.source = 3;
  frame.bytes = 400;
  const FrameBytes wrong_length = encode(frame);
  frame.bytes = 500;
  frame.step = 1;
  FrameBytes broken = encode(frame);
  broken[20] ^= std::byte{1};
  const FrameBytes good = encode({.source = 3, .bytes = 0});

  Stranger stranger(rank.rail().address());
  stranger.send(1, {}, {});
  stranger.send(1, std::span(broken).first(10), payload);
  stranger.send(1, broken, payload);
  stranger.send(1, wrong_length, payload);
  stranger.send(2, broken, payload);  // chasers carry nothing
  stranger.send(1, good, {});
  const Deadline end = Clock::now() + 5s;
  while (rank.frames.empty() && Clock::now() < end) {
    stranger.progress();
    rank.idle(1ms);
  }
  EXPECT_EQ(rank.frames.size(), 1U);
  EXPECT_EQ(rank.rail().refused(), 4U);
}

}  // namespace
}  // namespace railwave::transport::test
