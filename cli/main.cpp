// The `railwave` command.
#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "verb.hpp"

namespace railwave::cli {

int report(const Error& error) {
  fmt::print(stderr, "railwave: {}\n", to_string(error));
  if (error.code == ErrorCode::InvalidArgument) return 2;
  return error.code == ErrorCode::Unsupported ? 3 : 1;
}

namespace {

int run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  // CLI11 would read brackets and a second "--" of the command as its own.
  const auto end = std::find(words.begin(), words.end(), "--");
  Invocation invocation;
  if (end != words.end()) invocation.command.assign(end + 1, words.end());
  words.erase(end, words.end());
  std::reverse(words.begin(), words.end());

  CLI::App app("RailWave: expert-parallel communication over several rails per node", "railwave");
  app.require_subcommand(1);
  add_emulate(app, invocation);
  add_replay(app, invocation);
  add_bench(app, invocation);
  add_describe(app, invocation);
  add_plan(app, invocation);
  add_select(app, invocation);
  add_mode(app, invocation);
  add_workspace(app, invocation);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return invocation.run();
}

}  // namespace
}  // namespace railwave::cli

int main(int argc, char** argv) { return railwave::cli::run(argc, argv); }
