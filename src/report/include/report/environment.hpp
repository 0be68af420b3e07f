// Where and how a result was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace railwave::report {

/// The gate before a measurement on an emulated cluster (DESIGN section 6).
struct Gate {
  double rails_at_once = 0;  ///< slowest rail with all running at once, over its nominal rate
  double lone_transfer =
      0;                ///< time of a lone 256 KiB transfer over the least that its rail allows
  bool passed = false;  ///< rails_at_once >= 0.93 and lone_transfer >= 0.95
  friend bool operator==(const Gate&, const Gate&) = default;
};

/// The gate's verdict on two measured fractions.
Gate judge_gate(double rails_at_once, double lone_transfer);

/// Facts that a reader needs to judge a result. No address and, unless the user asks for it, no
/// host name.
struct Environment {
  std::optional<std::string> host{};
  int cores = 0;                                    ///< that this process may use
  std::string kernel{};                             ///< "Linux 6.1.0"
  std::vector<double> load_average{};               ///< of 1, 5 and 15 minutes, at the start
  std::optional<std::string> congestion_control{};  ///< TCP's; absent when not known
  std::string version{};                            ///< of RailWave
  std::uint64_t seed = 0;
  std::optional<Gate> gate{};  ///< absent where no gate was run
  friend bool operator==(const Environment&, const Environment&) = default;
};

/// This process's environment now; `congestion_control` is the default of its network namespace
/// (routes may set another). host and gate are left absent.
Environment environment_now(std::uint64_t seed);

}  // namespace railwave::report
