#include <array>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "segment.hpp"
#include "unix_packet.hpp"

namespace railwave::transport {
namespace {

UniqueFd bare_memfd(std::int64_t bytes) {
  UniqueFd fd(::memfd_create("bare", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(fd.get(), bytes), 0);
  return fd;
}

TEST(Segment, CanNotChangeItsSize) {
  auto segment = create_sealed_segment(10000);
  ASSERT_TRUE(segment);
  EXPECT_NE(::ftruncate(segment->fd.get(), 0), 0);
  EXPECT_NE(::ftruncate(segment->fd.get(), 1 << 20), 0);
  EXPECT_NE(::fcntl(segment->fd.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(Segment, AnUnsealedPeerIsAProtocolViolation) {
  const auto mapped = map_peer_segment(bare_memfd(4096).get(), 4096);
  ASSERT_FALSE(mapped);
  EXPECT_EQ(mapped.error().code, ErrorCode::ProtocolViolation);
}

TEST(Segment, APeerSealedAgainstHalfOfItIsAProtocolViolation) {
  const UniqueFd fd = bare_memfd(4096);
  ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_EQ(map_peer_segment(fd.get(), 4096).error().code, ErrorCode::ProtocolViolation);
}

TEST(Segment, APeerOfAnotherSizeIsAProtocolViolation) {
  auto segment = create_sealed_segment(8192);
  ASSERT_TRUE(segment);
  EXPECT_TRUE(map_peer_segment(segment->fd.get(), 8192));
  EXPECT_TRUE(map_peer_segment(segment->fd.get(), 4097));
  for (const std::int64_t said :
       {std::int64_t{-1}, std::int64_t{4096}, std::int64_t{8193}, std::int64_t{1} << 62}) {
    const auto mapped = map_peer_segment(segment->fd.get(), said);
    ASSERT_FALSE(mapped) << said;
    EXPECT_EQ(mapped.error().code, ErrorCode::ProtocolViolation);
  }
}

TEST(Segment, WhatIsNoMemfdIsAProtocolViolation) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd in(ends[0]);
  const UniqueFd out(ends[1]);
  EXPECT_EQ(map_peer_segment(in.get(), 4096).error().code, ErrorCode::ProtocolViolation);
}

class PacketPair : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    near_ = UniqueFd(ends[0]);
    far_ = UniqueFd(ends[1]);
  }
  UniqueFd near_;
  UniqueFd far_;
  std::array<std::byte, 8> buffer_{};
};

TEST_F(PacketPair, CarriesBytesAndTwoDescriptors) {
  const std::array<std::byte, 3> sent{std::byte{1}, std::byte{2}, std::byte{3}};
  ASSERT_TRUE(send_packet(near_.get(), sent, {0, 1}));
  const auto packet = receive_packet(far_.get(), buffer_);
  ASSERT_TRUE(packet);
  EXPECT_TRUE(packet->whole);
  EXPECT_EQ(packet->bytes, 3U);
  EXPECT_EQ(buffer_[2], std::byte{3});
  EXPECT_TRUE(packet->fds[0]);
  EXPECT_TRUE(packet->fds[1]);
}

TEST_F(PacketPair, SaysWhenNothingIsThereAndWhenNothingWillCome) {
  EXPECT_FALSE(receive_packet(far_.get(), buffer_));
  EXPECT_FALSE(hung_up(far_.get()));
  near_ = UniqueFd();
  EXPECT_TRUE(hung_up(far_.get()));
  const auto packet = receive_packet(far_.get(), buffer_);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->bytes, 0U);
  EXPECT_FALSE(packet->whole);
}

TEST_F(PacketPair, APacketThatIsTooLongOrWithoutDescriptorsIsNotWhole) {
  const std::array<std::byte, 9> longer{};
  ASSERT_TRUE(send_packet(near_.get(), longer, {0, 1}));
  EXPECT_FALSE(receive_packet(far_.get(), buffer_)->whole);
  ASSERT_EQ(::send(near_.get(), longer.data(), 8, 0), 8);
  EXPECT_FALSE(receive_packet(far_.get(), buffer_)->whole);
}

TEST(AbstractName, HasOneListenerAndIsFreeWhenItEnds) {
  const std::string name = "railwave-name-test-" + std::to_string(::getpid());
  EXPECT_FALSE(*connect_to(name));
  {
    const auto first = listen_at(name);
    ASSERT_TRUE(first && *first);
    EXPECT_FALSE(*listen_at(name));
    const auto caller = connect_to(name);
    ASSERT_TRUE(caller && *caller);
    EXPECT_TRUE(same_user((*caller)->get()));
    const auto accepted = accept_from((*first)->get());
    ASSERT_TRUE(accepted && *accepted);
    EXPECT_TRUE(same_user((*accepted)->get()));
  }
  EXPECT_FALSE(*connect_to(name));
  EXPECT_TRUE(*listen_at(name));
}

}  // namespace
}  // namespace railwave::transport
