#include "comm/all_gather_contract.hpp"

namespace railwave::comm {
namespace {

INSTANTIATE_TEST_SUITE_P(Thread, AllGatherContract,
                         testing::Values(GatherMaker(make_thread_all_gathers)));

TEST(ThreadAllGather, NoRanksAreNoGathers) { EXPECT_TRUE(make_thread_all_gathers(0).empty()); }

}  // namespace
}  // namespace railwave::comm
