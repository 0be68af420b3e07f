#include <cstdlib>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "comm/bootstrap.hpp"

extern char** environ;

namespace railwave::comm {
namespace {

using Variables = std::map<std::string, std::string>;

/// Only these variables are set while it lives.
class OnlyThese {
 public:
  explicit OnlyThese(const Variables& variables) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text(*entry);
      const auto equals = text.find('=');
      saved_[text.substr(0, equals)] = text.substr(equals + 1);
    }
    replace(variables);
  }
  ~OnlyThese() { replace(saved_); }
  OnlyThese(const OnlyThese&) = delete;
  OnlyThese& operator=(const OnlyThese&) = delete;

 private:
  static void replace(const Variables& variables) {
    ::clearenv();
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  }
  Variables saved_;
};

Result<LaunchIdentity> identity_with(const Variables& variables) {
  const OnlyThese only(variables);
  return identity_from_environment();
}

Variables torchrun() {
  return {{"RANK", "5"},           {"WORLD_SIZE", "8"},
          {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "4"},
          {"GROUP_RANK", "1"},     {"MASTER_ADDR", "10.0.0.1"},
          {"MASTER_PORT", "29500"}};
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

std::string field_at_fault(const Variables& variables) {
  const auto identity = identity_with(variables);
  if (identity) return "none";
  EXPECT_EQ(identity.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(identity.error().message, testing::HasSubstr(identity.error().field));
  return identity.error().field;
}

TEST(LaunchIdentity, TorchrunsVariables) {
  const auto identity = identity_with(torchrun());
  ASSERT_TRUE(identity) << to_string(identity.error());
  EXPECT_EQ(identity->rank, 5);
  EXPECT_EQ(identity->world_size, 8);
  EXPECT_EQ(identity->local_rank, 1);
  EXPECT_EQ(identity->local_size, 4);
  EXPECT_EQ(identity->node, 1);
  EXPECT_EQ(identity->address, "10.0.0.1");
  EXPECT_EQ(identity->port, 29500);
}

TEST(LaunchIdentity, OurOwnVariablesComeFirst) {
  const auto identity =
      identity_with(with(torchrun(), {{"RAILWAVE_NODE", "3"}, {"RAILWAVE_JOB", "train-7"}}));
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->node, 3);
  EXPECT_EQ(identity->job, XXH3_64bits("train-7", 7));
}

TEST(LaunchIdentity, TheJobIsTheSameOnAllRanksAndDiffersBetweenJobs) {
  const auto job = [](const Variables& more) { return identity_with(with(torchrun(), more))->job; };
  EXPECT_EQ(job({}), job({{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"GROUP_RANK", "0"}}));
  EXPECT_NE(job({}), job({{"MASTER_PORT", "29501"}}));
  EXPECT_NE(job({}), job({{"TORCHELASTIC_RUN_ID", "a"}}));
  EXPECT_EQ(job({{"RAILWAVE_JOB", "a"}}), job({{"RAILWAVE_JOB", "a"}, {"MASTER_PORT", "1"}}));
}

TEST(LaunchIdentity, EveryMissingVariableIsNamed) {
  for (const char* name :
       {"WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    EXPECT_EQ(field_at_fault(without(torchrun(), name)), name);
    EXPECT_EQ(field_at_fault(with(torchrun(), {{name, ""}})), name);
  }
  EXPECT_EQ(field_at_fault({}), "RANK");
  EXPECT_EQ(field_at_fault(without(torchrun(), "GROUP_RANK")), "RAILWAVE_NODE");
}

TEST(LaunchIdentity, EveryMalformedVariableIsNamed) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                           "RAILWAVE_NODE", "MASTER_PORT"}) {
    for (const char* value : {"x", "-1", "1x", " 1", "1.5", "99999999999"}) {
      EXPECT_EQ(field_at_fault(with(torchrun(), {{name, value}})), name) << value;
    }
  }
  EXPECT_EQ(field_at_fault(with(torchrun(), {{"RANK", "8"}})), "RANK");
  EXPECT_EQ(field_at_fault(with(torchrun(), {{"LOCAL_RANK", "4"}})), "LOCAL_RANK");
  EXPECT_EQ(field_at_fault(with(torchrun(), {{"LOCAL_WORLD_SIZE", "9"}})), "LOCAL_WORLD_SIZE");
  EXPECT_EQ(field_at_fault(with(torchrun(), {{"WORLD_SIZE", "0"}})), "WORLD_SIZE");
  EXPECT_EQ(field_at_fault(with(torchrun(), {{"MASTER_PORT", "0"}})), "MASTER_PORT");
  EXPECT_EQ(field_at_fault(with(torchrun(), {{"MASTER_PORT", "65536"}})), "MASTER_PORT");
}

TEST(LaunchIdentity, OneNodeNeedsNoNodeNumber) {
  const auto identity = identity_with({{"RANK", "1"},
                                       {"WORLD_SIZE", "2"},
                                       {"LOCAL_RANK", "1"},
                                       {"LOCAL_WORLD_SIZE", "2"},
                                       {"MASTER_ADDR", "localhost"},
                                       {"MASTER_PORT", "1"}});
  ASSERT_TRUE(identity) << to_string(identity.error());
  EXPECT_EQ(identity->node, 0);
}

const Variables kMaster{{"MASTER_ADDR", "n0"}, {"MASTER_PORT", "7000"}};

TEST(LaunchIdentity, OpenMpisVariables) {
  const auto variables = with(kMaster, {{"OMPI_COMM_WORLD_RANK", "3"},
                                        {"OMPI_COMM_WORLD_SIZE", "4"},
                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                        {"OMPI_COMM_WORLD_NODE_RANK", "1"}});
  EXPECT_EQ(field_at_fault(variables), "RAILWAVE_NODE") << "NODE_RANK does not number nodes";
  const auto identity = identity_with(with(variables, {{"RAILWAVE_NODE", "1"}}));
  ASSERT_TRUE(identity) << to_string(identity.error());
  EXPECT_EQ(identity->rank, 3);
  EXPECT_EQ(identity->local_rank, 1);
  EXPECT_EQ(identity->local_size, 2);
  EXPECT_EQ(identity->node, 1);
}

TEST(LaunchIdentity, PmisVariablesUnderSlurm) {
  const auto identity = identity_with(with(kMaster, {{"PMI_RANK", "2"},
                                                     {"PMI_SIZE", "4"},
                                                     {"MPI_LOCALRANKID", "0"},
                                                     {"MPI_LOCALNRANKS", "2"},
                                                     {"SLURM_PROCID", "1"},
                                                     {"SLURM_NODEID", "1"}}));
  ASSERT_TRUE(identity) << to_string(identity.error());
  EXPECT_EQ(identity->rank, 2);
  EXPECT_EQ(identity->world_size, 4);
  EXPECT_EQ(identity->node, 1);
}

Variables slurm(const std::string& tasks, const std::string& node) {
  return with(kMaster, {{"SLURM_PROCID", "2"},
                        {"SLURM_NTASKS", "9"},
                        {"SLURM_LOCALID", "0"},
                        {"SLURM_NODEID", node},
                        {"SLURM_TASKS_PER_NODE", tasks}});
}

TEST(LaunchIdentity, SlurmsListOfTasksPerNode) {
  const auto local_size = [](const std::string& tasks, const std::string& node) {
    const auto identity = identity_with(slurm(tasks, node));
    EXPECT_TRUE(identity) << to_string(identity.error());
    return identity ? identity->local_size : -1;
  };
  EXPECT_EQ(local_size("9", "0"), 9);
  EXPECT_EQ(local_size("2(x4),1", "0"), 2);
  EXPECT_EQ(local_size("2(x4),1", "3"), 2);
  EXPECT_EQ(local_size("2(x4),1", "4"), 1);
  EXPECT_EQ(local_size("1,3(x2),2", "2"), 3);
  for (const char* wrong : {"x", "2(x", "2(x0),1", "2(x3),", "0", "2"}) {
    EXPECT_EQ(field_at_fault(slurm(wrong, "4")), "SLURM_TASKS_PER_NODE") << wrong;
  }
}

TEST(LaunchIdentity, ALauncherInsideSlurmComesFirst) {
  const auto identity = identity_with(with(slurm("9", "0"), torchrun()));
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->rank, 5);
}

}  // namespace
}  // namespace railwave::comm
