// What main() and the verbs of the `railwave` command share. One file per verb.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <railwave/error.hpp>

namespace CLI {
class App;
}

namespace railwave::cli {

struct Invocation {
  std::vector<std::string> command{};  ///< everything after the first "--"
  bool takes_command = false;          ///< (set) by a verb that runs it; else it is refused
  std::function<int()> run{};          ///< (set) by the verb that was chosen; its exit status
};

/// Each adds its verb to the command line.
void add_emulate(CLI::App& app, Invocation& invocation);
void add_replay(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_describe(CLI::App& app, Invocation& invocation);
void add_plan(CLI::App& app, Invocation& invocation);
void add_select(CLI::App& app, Invocation& invocation);
void add_mode(CLI::App& app, Invocation& invocation);
void add_workspace(CLI::App& app, Invocation& invocation);

/// Says the error on standard error. The exit status: 2 for InvalidArgument, 3 for Unsupported; 4
/// when there is no answer to give (LinkDown, ResourceExhausted, Internal), else 1.
int report(const Error& error);

}  // namespace railwave::cli
