#include "transport/frame.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <xxhash.h>

namespace railwave::transport {
namespace {

FrameHeader example() {
  FrameHeader h;
  h.kind = FrameKind::Records;
  h.flags = 0xa5;
  h.job = 0x1122334455667788;
  h.step = 0x0102030405060708;
  h.bytes = 0x00000000000186a0;
  h.generation = 7;
  h.window = 3;
  h.source = 12;
  h.destination = 29;
  h.first_record = 4096;
  h.records = 14;
  h.rail = 5;
  return h;
}

/// The example as docs/wire.md prints it.
constexpr std::array<unsigned char, kFrameHeaderBytes> kGolden{
    0x52, 0x57, 0x76, 0x31, 0x01, 0x00, 0x04, 0xa5, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0xa0, 0x86, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x07, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x00, 0x1d, 0x00, 0x00, 0x00,
    0x00, 0x10, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x91, 0xee, 0x4f, 0xe9};

void reseal(FrameBytes& frame) {
  const auto sum = static_cast<std::uint32_t>(XXH3_64bits(frame.data(), 60));
  for (std::size_t i = 0; i < 4; ++i) frame[60 + i] = static_cast<std::byte>(sum >> (8 * i));
}

ErrorCode refusal(std::span<const std::byte> bytes) {
  const auto header = decode(bytes);
  EXPECT_FALSE(header);
  return header ? ErrorCode::Internal : header.error().code;
}

TEST(Frame, HasTheBytesOfTheDocument) {
  const FrameBytes frame = encode(example());
  for (std::size_t i = 0; i < frame.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(frame[i]), kGolden[i]) << "at byte " << i;
  }
}

TEST(Frame, RefusesWhatItIsNot) {
  const FrameBytes frame = encode(example());
  EXPECT_EQ(refusal({}), ErrorCode::ProtocolViolation);
  EXPECT_EQ(refusal(std::span(frame).first(63)), ErrorCode::ProtocolViolation);
  std::vector<std::byte> longer(frame.begin(), frame.end());
  longer.push_back(std::byte{0});
  EXPECT_EQ(refusal(longer), ErrorCode::ProtocolViolation);

  const auto with = [&](std::size_t at, int value) {
    FrameBytes out = frame;
    out[at] = static_cast<std::byte>(value);
    reseal(out);
    return out;
  };
  EXPECT_EQ(refusal(with(0, 0)), ErrorCode::ProtocolViolation);
  EXPECT_EQ(refusal(with(4, 2)), ErrorCode::ProtocolViolation);
  EXPECT_EQ(refusal(with(6, 0)), ErrorCode::ProtocolViolation);
  EXPECT_EQ(refusal(with(6, 7)), ErrorCode::ProtocolViolation);
  EXPECT_EQ(refusal(with(58, 1)), ErrorCode::ProtocolViolation);
  EXPECT_TRUE(decode(with(6, 6)));
}

RC_GTEST_PROP(Frame, ComesBackAsItWas, ()) {
  FrameHeader h;
  h.kind = static_cast<FrameKind>(*rc::gen::inRange(1, 7));
  h.flags = *rc::gen::arbitrary<std::uint8_t>();
  h.job = *rc::gen::arbitrary<std::uint64_t>();
  h.generation = *rc::gen::arbitrary<std::uint32_t>();
  h.step = *rc::gen::arbitrary<std::uint64_t>();
  h.window = *rc::gen::arbitrary<std::uint32_t>();
  h.source = *rc::gen::arbitrary<std::uint32_t>();
  h.destination = *rc::gen::arbitrary<std::uint32_t>();
  h.rail = *rc::gen::arbitrary<std::uint16_t>();
  h.first_record = *rc::gen::arbitrary<std::uint32_t>();
  h.records = *rc::gen::arbitrary<std::uint32_t>();
  h.bytes = *rc::gen::arbitrary<std::uint64_t>();
  const auto back = decode(encode(h));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == h);
}

TEST(Frame, NoticesEveryFlippedBit) {
  const FrameBytes frame = encode(example());
  for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    FrameBytes bad = frame;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const ErrorCode expected = bit < 48 ? ErrorCode::ProtocolViolation : ErrorCode::IntegrityError;
    EXPECT_EQ(refusal(bad), expected) << "bit " << bit;
  }
}

TEST(Frame, SurvivesRandomBytes) {
  std::mt19937_64 random(20240817);
  std::size_t accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    // On the heap and exactly as long as told, so that a sanitizer sees a read past the end.
    std::vector<std::byte> junk(random() % 4 == 0 ? random() % 130 : kFrameHeaderBytes);
    std::generate(junk.begin(), junk.end(), [&] { return static_cast<std::byte>(random()); });
    if (junk.size() == kFrameHeaderBytes && random() % 2 == 0) {
      std::copy_n(encode(example()).begin(), 6, junk.begin());
    }
    accepted += decode(junk).has_value() ? 1 : 0;
  }
  EXPECT_EQ(accepted, 0U);  // by chance 2^-32 each
}

}  // namespace
}  // namespace railwave::transport
