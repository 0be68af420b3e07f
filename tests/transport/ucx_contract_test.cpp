#include "transport/rail_contract.hpp"
#include "transport/ucx_rail.hpp"

namespace railwave::transport::test {
namespace {

class UcxOverLo final : public RailBackend {
 public:
  std::unique_ptr<Rail> open(RankId rank) override {
    auto rail = open_ucx_rail({.self = rank, .rail = RailId(0), .device = "lo"});
    EXPECT_TRUE(rail) << to_string(rail.error());
    return rail ? std::move(*rail) : nullptr;
  }
};

INSTANTIATE_TEST_SUITE_P(Ucx, RailContract,
                         testing::Values(BackendCase{"lo",
                                                     [] { return std::make_unique<UcxOverLo>(); }}),
                         case_name);

}  // namespace
}  // namespace railwave::transport::test
