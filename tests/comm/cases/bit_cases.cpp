// The same bits every time.
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "comm/cases/rank.hpp"
#include "group/phase_check.hpp"

namespace cases {
namespace {

phases::Shape random_shape(const Topology& topology, const Variant& variant) {
  phases::Shape shape;
  shape.seed = 22;
  shape.experts = 16;
  shape.model.top_k = 4;
  shape.model.hidden = 128;
  const DType returned = variant.returned();
  shape.model.type = returned == DType::BF16   ? phases::Type::BF16
                     : returned == DType::FP16 ? phases::Type::FP16
                                               : phases::Type::FP32;
  shape.fp8 = variant.sent == DType::FP8E4M3;
  shape.layout = variant.layout;
  shape.apply_weights = variant.layout == RowLayout::ExpertMajor;
  shape.return_weights = true;
  for (int e = 0; e < 16; ++e) shape.model.owner.push_back(e / 4);
  std::mt19937_64 rng(shape.seed);
  for (int p = 0; p < 4; ++p) {
    shape.model.node_of_rank.push_back(topology.node_of(RankId(p)).value);
    shape.model.idx.emplace_back();
    for (int i = 0; i < 64 * 4; ++i) {
      shape.model.idx.back().push_back(static_cast<std::int64_t>(rng() % 16));
    }
  }
  return shape;
}

/// The first node of at least three ranks, or none.
std::optional<NodeId> node_of_three(const Topology& topology) {
  for (int n = 0; n < topology.nodes(); ++n) {
    if (topology.ranks_at(NodeId(n)) >= 3) return NodeId(n);
  }
  return std::nullopt;
}

/// Three ranks of one node give 1e8, 1 and -1e8, in slots that are not in the order of the ranks:
/// in ascending rank order the sum is 0, in slot order 1.
void probe_order(Rank& rank, Communicator& group, NodeId node, Path path) {
  const int first = rank.topology.first_rank(node).value;
  const std::vector<std::int64_t> idx{4 * first, 4 * (first + 2), 4 * (first + 1)};
  const std::vector<float> x(128, 1.0F);
  railwave::DispatchArguments in;
  in.x = x.data();
  in.tokens = 1;
  in.hidden = 128;
  in.dtype = DType::FP32;
  in.top_k = 3;
  in.topk_idx = idx;
  in.path = path;
  rank.pause();
  const auto received = group.dispatch(in);
  ASSERT_TRUE(received) << to_string(received.error());
  const int place = rank.self.value - first;
  const float mine = place == 0 ? 1e8F : place == 1 ? 1.0F : -1e8F;
  const std::vector<float> back(static_cast<std::size_t>(received->rows) * 128, mine);
  std::vector<float> y(128, 7.0F);
  railwave::CombineArguments combine;
  combine.handle = received->handle;
  combine.x = back.data();
  combine.rows = received->rows;
  combine.hidden = 128;
  combine.dtype = DType::FP32;
  combine.out = std::as_writable_bytes(std::span(y));
  rank.pause();
  const auto combined = group.combine(combine);
  ASSERT_TRUE(combined) << to_string(combined.error());
  EXPECT_EQ(y, std::vector<float>(128, 0.0F)) << "rank " << rank.self.value;
}

}  // namespace

/// D22: against a reference that adds in the order of the definition.
void d22_same_bits(Rank& rank) {
  auto group = rank.make(*Placement::contiguous(16, 4), options_for(rank, 64, 128, DType::FP32, 4));
  ASSERT_TRUE(group) << to_string(group.error());
  on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
    const phases::Shape shape = random_shape(rank.topology, variant);
    rank.doing("random rows on " + std::string(to_string(path)));
    std::uint64_t hash = 0;
    const auto wrong = phases::check(*group, rank.self, shape, {path, rank.pause}, &hash);
    ASSERT_FALSE(wrong) << *wrong;
    bits.add(std::as_bytes(std::span(&hash, 1)));
  });
  const auto node = node_of_three(rank.topology);
  if (!node) return;
  for (const Path path : rank.paths) {
    ASSERT_NO_FATAL_FAILURE(probe_order(rank, *group, *node, path));
  }
}

}  // namespace cases
