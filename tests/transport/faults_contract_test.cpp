#include "transport/fault_rail.hpp"
#include "transport/loopback_rail.hpp"
#include "transport/rail_contract.hpp"
#include "transport/ucx_rail.hpp"

namespace railwave::transport::test {
namespace {

using namespace std::chrono_literals;

/// Any backend whose rails misbehave.
class Faulty final : public RailBackend {
 public:
  using Open = std::function<std::unique_ptr<Rail>(RankId)>;
  Faulty(Open open, FaultOptions options) : open_(std::move(open)), options_(options) {}

  std::unique_ptr<Rail> open(RankId rank) override {
    auto rail = open_(rank);
    options_.seed += rank.index();
    return rail ? with_faults(std::move(rail), options_) : nullptr;
  }

 private:
  Open open_;
  FaultOptions options_;
};

std::unique_ptr<RailBackend> loopback(const FaultOptions& options) {
  auto home = std::make_shared<LoopbackSwitch>();
  return std::make_unique<Faulty>([home](RankId rank) { return home->plug(rank, RailId(0)); },
                                  options);
}

std::unique_ptr<RailBackend> ucx(const FaultOptions& options) {
  const auto open = [](RankId rank) -> std::unique_ptr<Rail> {
    auto rail = open_ucx_rail({.self = rank, .rail = RailId(0), .device = "lo"});
    EXPECT_TRUE(rail) << to_string(rail.error());
    return rail ? std::move(*rail) : nullptr;
  };
  return std::make_unique<Faulty>(open, options);
}

const FaultOptions kWild{.seed = 11, .max_delay = 3ms, .reorder = true, .duplicate = 0.3};
const FaultOptions kSlow{.seed = 12, .max_delay = 2ms};
const FaultOptions kTwice{.seed = 13, .duplicate = 1};

INSTANTIATE_TEST_SUITE_P(
    Faults, RailContract,
    testing::Values(BackendCase{"loopback_wild", [] { return loopback(kWild); }},
                    BackendCase{"loopback_slow", [] { return loopback(kSlow); }},
                    BackendCase{"loopback_twice", [] { return loopback(kTwice); }},
                    BackendCase{"ucx_wild", [] { return ucx(kWild); }}),
    case_name);

}  // namespace
}  // namespace railwave::transport::test
