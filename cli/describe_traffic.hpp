// A trace on a cluster as the description that `railwave describe` prints.
#pragma once

#include <cstdint>
#include <string>

#include <railwave/error.hpp>

#include "report/description.hpp"

namespace railwave::cli {

/// As typed.
struct DescribeOptions {
  std::string trace{};
  int experts = 0;
  std::string cluster{};  ///< a cluster.toml; empty: the next three
  int nodes = 4;
  int ranks_per_node = 8;
  int rails = 0;  ///< 0: as many as ranks per node
  std::string windows = "all-at-once";
  std::int64_t hidden = 7'168;
  std::string dtype = "bf16";
  std::uint64_t seed = 1;
  std::size_t layers = 64;  ///< rows of the table
  std::string json{};
};

/// Reads the trace (or generates one), summarised. Errors: InvalidArgument naming the option or
/// the trace's place; as read_trace().
Result<report::Description> describe_traffic(const DescribeOptions& options);

}  // namespace railwave::cli
