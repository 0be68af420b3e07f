// What `railwave mode` is asked, as typed and understood.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <railwave/error.hpp>

#include "plan/mode.hpp"

namespace railwave::cli {

/// As typed.
struct ModeOptions {
  std::vector<std::string> formulas{"bytes"};
  int nodes = 4;
  int ranks_per_node = 8;
  std::int64_t hidden = 7'168;
  std::int64_t intermediate = 2'048;
  std::optional<std::int64_t> experts{};
  std::optional<std::int64_t> experts_per_worker{};
  std::int64_t top_k = 8;
  std::optional<std::int64_t> tokens{};
  std::optional<std::int64_t> tokens_per_worker{};
  std::string expert_bytes{};
  std::string weight_dtype = "bf16";
  std::string dispatch_dtype = "bf16";
  std::string return_dtype = "bf16";
  std::string remote_nodes{};     ///< exact_number(); empty: even routing
  std::string given_for_bytes{};  ///< (set) an option that only formula bytes looks at
  std::string json{};
};

/// Formula bytes is among those asked for; only then are bytes and remote nodes of the inputs set.
bool uses_bytes(const ModeOptions& options);

/// Errors: InvalidArgument naming the option. What select_mode() checks is left to it.
Result<plan::ModeInputs> mode_inputs(const ModeOptions& options);

}  // namespace railwave::cli
