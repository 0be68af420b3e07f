#include "bootstrap_wire.hpp"

#include <array>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <rapidcheck/gtest.h>

#include "bootstrap_channel.hpp"
#include "tcp_socket.hpp"

namespace railwave::comm {
namespace {

Bytes to_bytes(const std::vector<std::uint8_t>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

RC_GTEST_PROP(BootstrapWire, PartsComeBackAndNoShorterOrLongerTextDoes,
              (const std::vector<std::vector<std::uint8_t>>& values)) {
  std::vector<Bytes> parts;
  for (const auto& value : values) parts.push_back(to_bytes(value));
  Bytes text = encode(parts);
  RC_ASSERT(decode_parts(text, parts.size()) == parts);
  RC_ASSERT(!decode_parts(text, parts.size() + 1));
  text.push_back(std::byte{0});
  RC_ASSERT(!decode_parts(text, parts.size()));
  text.pop_back();
  if (text.empty()) return;
  text.pop_back();
  RC_ASSERT(!decode_parts(text, parts.size()));
}

RC_GTEST_PROP(BootstrapWire, AnyBytesAreReadWithoutHarm,
              (const std::vector<std::uint8_t>& values)) {
  const Bytes bytes = to_bytes(values);
  const auto error = decode_error(bytes);
  if (error) RC_ASSERT(encode(*error) == bytes);
  const auto parts = decode_parts(bytes, 2);
  if (parts) RC_ASSERT(encode(*parts) == bytes);
  RC_ASSERT(decode_hello(bytes).has_value() == (bytes.size() == kHelloBytes));
}

TEST(BootstrapWire, ErrorsComeBackWhole) {
  const Error error{ErrorCode::ResourceExhausted, 7, "field", "what to do", 12, 5};
  const auto back = decode_error(encode(error));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_string(*back), to_string(error));
  Bytes unknown = encode(error);
  unknown[0] = std::byte{99};
  EXPECT_FALSE(decode_error(unknown));
}

TEST(BootstrapWire, ALengthBeyondTheTextIsNoPart) {
  Bytes text(16, std::byte{0xff});
  EXPECT_FALSE(decode_parts(text, 1));
  EXPECT_FALSE(decode_parts(text, 2));
}

class ConnectedPair : public testing::Test {
 protected:
  void SetUp() override {
    auto addresses = resolve("127.0.0.1", 0);
    ASSERT_TRUE(addresses);
    Listening listening = listen_on(addresses->front());
    ASSERT_EQ(listening.code, 0);
    SocketAddress bound;
    bound.length = sizeof(bound.value);
    ASSERT_EQ(::getsockname(listening.socket.get(), reinterpret_cast<sockaddr*>(&bound.value),
                            &bound.length),
              0);
    auto near = start_connecting(bound);
    ASSERT_TRUE(near);
    UniqueFd far;
    ASSERT_TRUE(wait_for(listening.socket.get(), POLLIN));
    ASSERT_EQ(accept_next(listening.socket.get(), far), Accepted::Connection);
    ASSERT_TRUE(wait_for(near->get(), POLLOUT));
    ASSERT_TRUE(connected(near->get()));
    near_ = Channel(std::move(*near), 1 << 20);
    far_ = Channel(std::move(far), 1 << 20);
  }
  static bool wait_for(int fd, short events) {
    pollfd entry{fd, events, 0};
    return ::poll(&entry, 1, 5000) == 1;
  }
  Channel near_;
  Channel far_;
};

TEST_F(ConnectedPair, SmallMessagesAreNotHeldBack) {
  for (const int fd : {near_.fd(), far_.fd()}) {
    int value = 0;
    socklen_t length = sizeof(value);
    ASSERT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length), 0);
    EXPECT_NE(value, 0);
  }
}

TEST_F(ConnectedPair, MessagesKeepTheirBoundsAndOrder) {
  near_.queue(encode(MessageKind::Part, 1, Bytes(3)));
  near_.queue(encode(MessageKind::Part, 2, {}));
  near_.queue(encode(MessageKind::Gathered, 3, Bytes(5)));
  ASSERT_TRUE(near_.flush());
  EXPECT_FALSE(near_.has_unsent());
  const std::array<std::size_t, 3> lengths{3, 0, 5};
  for (const std::uint32_t round : {1U, 2U, 3U}) {
    Message message;
    while (far_.receive(message) == Channel::Got::Nothing) ASSERT_TRUE(wait_for(far_.fd(), POLLIN));
    EXPECT_EQ(message.header.round, round);
    EXPECT_EQ(message.body.size(), lengths[round - 1]);
  }
}

TEST_F(ConnectedPair, AFullSocketKeepsTheRestForLater) {
  const Bytes body(1 << 20, std::byte{3});
  std::size_t queued = 0;
  while (!near_.has_unsent() && queued < 64) {
    near_.queue(encode(MessageKind::Part, 0, body));
    ++queued;
    ASSERT_TRUE(near_.flush());
  }
  ASSERT_TRUE(near_.has_unsent());
  for (std::size_t received = 0; received < queued;) {
    Message message;
    ASSERT_TRUE(wait_for(far_.fd(), POLLIN));
    const auto got = far_.receive(message);
    ASSERT_TRUE(got == Channel::Got::Message || got == Channel::Got::Nothing);
    if (got == Channel::Got::Message) {
      EXPECT_EQ(message.body, body);
      ++received;
    }
    ASSERT_TRUE(near_.flush());
  }
}

TEST_F(ConnectedPair, TooLongABodyIsMalformedBeforeAnyOfItIsKept) {
  far_.set_longest_body(10);
  near_.queue(encode(MessageKind::Part, 0, Bytes(11)));
  ASSERT_TRUE(near_.flush());
  ASSERT_TRUE(wait_for(far_.fd(), POLLIN));
  Message message;
  EXPECT_EQ(far_.receive(message), Channel::Got::Malformed);
}

TEST_F(ConnectedPair, AnEndIsSeenInBothDirections) {
  near_.close();
  ASSERT_TRUE(wait_for(far_.fd(), POLLIN));
  Message message;
  EXPECT_EQ(far_.receive(message), Channel::Got::End);
  far_.queue(encode(MessageKind::Part, 0, {}));
  static_cast<void>(far_.flush());
  ASSERT_TRUE(wait_for(far_.fd(), POLLIN));
  far_.queue(encode(MessageKind::Part, 0, {}));
  EXPECT_FALSE(far_.flush());
}

}  // namespace
}  // namespace railwave::comm
