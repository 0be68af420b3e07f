// Workspace formulas: the paper's Table 7, and what happens at the edge of 64 bits.
#include "plan/workspace.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave::plan {
namespace {

constexpr std::int64_t kMost = INT64_MAX;

/// Thousandths of a GiB, rounded as the paper prints them.
long thousandths(std::int64_t bytes) {
  return std::lround(static_cast<double>(bytes) / static_cast<double>(1 << 30) * 1000);
}

TEST(Workspace, ThePapersSetUpExactly) { EXPECT_EQ(balance_workspace({}), 4'414'242'944); }

TEST(Workspace, Table7) {
  struct Row {
    std::int64_t replicas;
    long inference, one_layer, all, ours;
  };
  for (const Row row : {Row{1, 4758, 4922, 14273, 4111}, Row{2, 9516, 9844, 28547, 4111},
                        Row{4, 19031, 19688, 57094, 4111}}) {
    const auto storage = replica_storage({.replicas = row.replicas}).value();
    EXPECT_EQ(thousandths(storage.inference), row.inference);
    EXPECT_EQ(thousandths(storage.train_one_layer), row.one_layer);
    EXPECT_EQ(thousandths(storage.train_all), row.all);
    EXPECT_EQ(thousandths(*balance_workspace({})), row.ours);
  }
}

TEST(Workspace, OneNodeKeepsNoRecords) {
  // 4 (32 * 2 + 2 * 2 * 3 + 3) bytes, whatever a row is.
  EXPECT_EQ(balance_workspace({.nodes = 1,
                               .ranks_per_node = 3,
                               .tokens_per_rank = kMost,
                               .channels = 2,
                               .dispatch_record_bytes = kMost,
                               .return_record_bytes = kMost}),
            316);
}

TEST(Workspace, NothingReplicatedIsNothing) {
  const auto storage = replica_storage({.replicas = 0, .parameters = kMost}).value();
  EXPECT_EQ(storage.train_all, 0);
}

TEST(Workspace, TheLast64BitSizeAndTheNext) {
  // D = 2, C = 0, G = 1: (T)(s) + 8.
  const auto size = [](std::int64_t tokens) {
    return balance_workspace({.nodes = 2,
                              .ranks_per_node = 1,
                              .tokens_per_rank = tokens,
                              .channels = 0,
                              .dispatch_record_bytes = 1,
                              .return_record_bytes = 0});
  };
  EXPECT_EQ(size(kMost - 8), kMost);
  ASSERT_FALSE(size(kMost - 7));
  EXPECT_EQ(size(kMost - 7).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(size(kMost - 7).error().field, "workspace");
}

TEST(Workspace, FieldsOutOfRangeAreNamed) {
  const auto field = [](const BalanceShape& shape) {
    return balance_workspace(shape).error().field;
  };
  EXPECT_EQ(field({.nodes = 0}), "nodes");
  EXPECT_EQ(field({.ranks_per_node = -1}), "ranks_per_node");
  EXPECT_EQ(field({.tokens_per_rank = -1}), "tokens_per_rank");
  EXPECT_EQ(field({.channels = -1}), "channels");
  EXPECT_EQ(field({.dispatch_record_bytes = -1}), "dispatch_record_bytes");
  EXPECT_EQ(field({.return_record_bytes = INT64_MIN}), "return_record_bytes");
  const auto replica = [](const ReplicaShape& shape) {
    return replica_storage(shape).error().field;
  };
  EXPECT_EQ(replica({.layers = -1}), "layers");
  EXPECT_EQ(replica({.replicas = -1}), "replicas");
  EXPECT_EQ(replica({.parameters = -1}), "parameters");
  EXPECT_EQ(replica({.weight_bytes = -1}), "weight_bytes");
  EXPECT_EQ(replica({.gradient_bytes = -1}), "gradient_bytes");
  EXPECT_EQ(replica({.replicas = kMost}), "workspace");
  EXPECT_EQ(replica({.layers = kMost, .parameters = kMost, .weight_bytes = kMost}), "workspace");
}

/// Against long double, which is exact below 2^64, and near enough to tell what leaves 64 bits.
RC_GTEST_PROP(Workspace, IsTheFormula, ()) {
  const auto any = [](std::int64_t least) {
    const int bits = *rc::gen::inRange(1, 40);
    return *rc::gen::inRange<std::int64_t>(least, (std::int64_t{1} << bits) + 1);
  };
  const BalanceShape s{any(1), any(1), any(0), any(0), any(0), any(0)};
  using Real = long double;
  const Real d = static_cast<Real>(s.nodes);
  const Real g = static_cast<Real>(s.ranks_per_node);
  const Real c = static_cast<Real>(s.channels);
  const Real want =
      (d - 1) * (static_cast<Real>(s.tokens_per_rank) + c) *
          (static_cast<Real>(s.dispatch_record_bytes) + static_cast<Real>(s.return_record_bytes)) +
      4 * (32 * c + 2 * c * d * g + d * g);
  const auto have = balance_workspace(s);
  if (want < 9.2e18L) {
    RC_ASSERT(have.has_value());
    RC_ASSERT(static_cast<Real>(*have) == want);
  } else if (want > 9.3e18L) {
    RC_ASSERT(!have.has_value());
  }
}

}  // namespace
}  // namespace railwave::plan
