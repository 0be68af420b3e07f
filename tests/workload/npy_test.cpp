#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "workload/scratch_folder.hpp"
#include "workload/trace_reader.hpp"

namespace railwave::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

/// As numpy.lib.format describes it: magic, version, header size, header padded to 64 bytes.
std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  const std::size_t before = version == 1 ? 10 : 12;
  std::string header = dictionary;
  while ((before + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out = "\x93NUMPY"s + version + '\0';
  for (std::size_t i = 0; i < before - 8; ++i) {
    out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return out + header + data;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

using NpyTest = ScratchFolder;

TEST_F(NpyTest, ThreeDimensionsAreIds) {
  const auto path = write("ids.npy", npy(dictionary("|u1", "(1, 2, 2)"), "\0\1\2\3"s));
  const auto trace = read_trace(path);
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->tokens(), 2);
  EXPECT_EQ(trace->id(0, 1, 0), 2);
}

TEST_F(NpyTest, TwoDimensionsAreCounts) {
  const auto data = "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"s;
  for (const char version : {'\1', '\2'}) {
    const auto trace = read_trace(write("c.npy", npy(dictionary("<i8", "(1, 2)"), data, version)));
    ASSERT_TRUE(trace) << to_string(trace.error());
    EXPECT_THAT(trace->expert_counts(0), ElementsAre(1, 2));
  }
}

TEST_F(NpyTest, ThreeDimensionsAreCountsWhenTheOptionOrTheNameSaysSo) {
  const auto bytes = npy(dictionary("<u2", "(1, 2, 2)"), "\1\0\2\0\3\0\4\0"s);
  EXPECT_THAT(read_trace(write("expert_counts.npy", bytes))->expert_counts(0), ElementsAre(4, 6));
  EXPECT_THAT(
      read_trace(write("c.npy", bytes), {.content = TraceContent::Counts})->expert_counts(0),
      ElementsAre(4, 6));
  EXPECT_TRUE(read_trace(write("counts2.npy", bytes), {.content = TraceContent::Ids})->has_ids());
}

TEST_F(NpyTest, EveryElementTypeIsRead) {
  const std::vector<std::pair<std::string, std::string>> types{{"|u1", "\5"s},
                                                               {"<u1", "\5"s},
                                                               {"<u2", "\5\0"s},
                                                               {"<u4", "\5\0\0\0"s},
                                                               {"<i4", "\5\0\0\0"s},
                                                               {"<u8", "\5\0\0\0\0\0\0\0"s},
                                                               {"<i8", "\5\0\0\0\0\0\0\0"s}};
  for (const auto& [type, data] : types) {
    const auto trace = read_trace(write("c.npy", npy(dictionary(type, "(1, 1)"), data)));
    ASSERT_TRUE(trace) << type << to_string(trace.error());
    EXPECT_THAT(trace->expert_counts(0), ElementsAre(5)) << type;
  }
}

TEST_F(NpyTest, NegativeAndOverlongCountsAreRefusedWithTheirByte) {
  const auto negative = npy(dictionary("<i4", "(1, 1)"), "\xff\xff\xff\xff"s);
  EXPECT_THAT(read_trace(write("c.npy", negative)).error().message,
              HasSubstr("byte 128: element 0 is -1"));
  const auto huge = npy(dictionary("<u8", "(1, 1)"), std::string(8, '\xff'));
  EXPECT_THAT(read_trace(write("c.npy", huge)).error().message, HasSubstr("beyond 63 bits"));
}

TEST_F(NpyTest, WhatIsNotReadIsUnsupported) {
  for (const auto& bytes :
       {npy(dictionary(">u2", "(1, 1)"), "\0\1"s), npy(dictionary("<f4", "(1, 1)"), "\0\0\0\0"s),
        npy(dictionary("|u1", "(1, 1)", "True"), "\0"s),
        npy(dictionary("|u1", "(1, 1)"), "\0"s, '\3')}) {
    EXPECT_EQ(read_trace(write("c.npy", bytes)).error().code, ErrorCode::Unsupported);
  }
}

TEST_F(NpyTest, MalformedHeadersSayWhereAndWhatWasExpected) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "byte 0: expected the npy magic"},
      {"\x93NUMPY\1\0\xff\xff"s, "header of 65535 bytes, the file has only 0 more"},
      {npy("{'descr': '|u1'", "\0"s), "expected '}'"},
      {npy("{'descr': '|u1', 'shape': (1, 1)}", "\0"s), "the keys descr, fortran_order and shape"},
      {npy("{'color': 1}", "\0"s), "one of the keys"},
      {npy(dictionary("|u1", "(1, -1)"), "\0"s), "an extent of at least 0"},
      {npy(dictionary("|u1", "(1, 99999999999999999999)"), "\0"s), "an extent of at least 0"},
      {npy(dictionary("|u1", "(1, 1)") + "x", "\0"s), "only spaces"},
      {npy(dictionary("|u1", "(1, 1)", "Maybe"), "\0"s), "True or False"},
      {npy(dictionary("|u1", "(1, 4000000000)"), "\0"s), "needs 4000000000 bytes from byte 128"},
      {npy(dictionary("|u1", "(4000000000, 4000000000)"), "\0"s), "more than 2^63"},
      {npy(dictionary("|u1", "(1, 1)"), ""), "the file has 0"},
      {npy(dictionary("|u1", "(1,)"), "\0"s), "has 1 dimensions"}};
  for (const auto& [bytes, expected] : cases) {
    const auto trace = read_trace(write("c.npy", bytes));
    ASSERT_FALSE(trace) << expected;
    EXPECT_THAT(trace.error().message, HasSubstr(expected));
  }
}

TEST_F(NpyTest, DamagedFilesAreReadOrRefusedButNeverCrash) {
  const std::string good = npy(dictionary("<u2", "(1, 2, 2)"), "\0\0\1\0\2\0\3\0"s);
  EXPECT_TRUE(rc::check([&] {
    std::string bytes = good;
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
      bytes[*rc::gen::inRange<std::size_t>(0, good.size())] = *rc::gen::arbitrary<char>();
    }
    bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
    const auto trace = read_trace(write("c.npy", bytes));
    RC_ASSERT(trace.has_value() || trace.error().field == "trace" ||
              trace.error().field == "top_k" || trace.error().field == "expert_id");
  }));
}

}  // namespace
}  // namespace railwave::workload
