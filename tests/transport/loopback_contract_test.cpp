#include "transport/loopback_rail.hpp"
#include "transport/rail_contract.hpp"

namespace railwave::transport::test {
namespace {

class Loopback final : public RailBackend {
 public:
  std::unique_ptr<Rail> open(RankId rank) override { return switch_.plug(rank, RailId(0)); }

 private:
  LoopbackSwitch switch_;
};

INSTANTIATE_TEST_SUITE_P(Loopback, RailContract,
                         testing::Values(BackendCase{"plain",
                                                     [] { return std::make_unique<Loopback>(); }}),
                         case_name);

}  // namespace
}  // namespace railwave::transport::test
