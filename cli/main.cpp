// The `railwave` command.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <railwave/railwave.h>

#include "base/fail.hpp"
#include "verb.hpp"

namespace railwave::cli {
namespace {

/// What a shell says of a command whose reader has gone: 128 + SIGPIPE.
constexpr int kReaderGone = 141;

/// On standard error, where nothing can be done if that fails too.
void say(const std::string& sentence) {
  (void)std::fputs(("railwave: " + sentence + "\n").c_str(), stderr);
}

}  // namespace

int report(const Error& error) {
  say(to_string(error));
  switch (error.code) {
    case ErrorCode::InvalidArgument:
      return 2;
    case ErrorCode::Unsupported:
      return 3;
    case ErrorCode::LinkDown:
    case ErrorCode::ResourceExhausted:
    case ErrorCode::Internal:
      return 4;
    default:
      return 1;
  }
}

namespace {

int output_lost(int why) {
  if (why == EPIPE) return kReaderGone;
  say(fmt::format("the output could not be written{}{}", why == 0 ? "" : ": ",
                  why == 0 ? "" : std::strerror(why)));
  return 4;
}

/// The verb's status when standard output took everything.
int end_with(int status) {
  errno = 0;
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  return lost ? output_lost(errno) : status;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

/// CLI11 says only that something is missing.
Status check_verb(const CLI::App& app, const std::string& named,
                  const std::vector<std::string>& words, std::size_t at) {
  if (app.get_require_subcommand_min() == 0) return {};
  if (at < words.size() && words[at].starts_with("-")) return {};
  const auto names = verb_names(app);
  const auto known = [&](const std::string& word) { return std::ranges::count(names, word) > 0; };
  if (at < words.size() && known(words[at])) {
    return check_verb(*app.get_subcommand(words[at]), named + " " + words[at], words, at + 1);
  }
  return fail(ErrorCode::InvalidArgument, "command",
              fmt::format("{}; expected one of {}; {} --help says what each does",
                          at < words.size() ? fmt::format("'{}' is no verb of {}", words[at], named)
                                            : fmt::format("{} needs a verb", named),
                          fmt::join(names, ", "), named));
}

void add_verbs(CLI::App& app, Invocation& invocation) {
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("railwave {}.{}.{}", RAILWAVE_VERSION_MAJOR,
                                   RAILWAVE_VERSION_MINOR, RAILWAVE_VERSION_PATCH),
                       "print the version");
  add_emulate(app, invocation);
  add_replay(app, invocation);
  add_bench(app, invocation);
  add_describe(app, invocation);
  add_plan(app, invocation);
  add_select(app, invocation);
  add_mode(app, invocation);
  add_workspace(app, invocation);
}

int run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  // CLI11 would read brackets and a second "--" of the command as its own.
  const auto end = std::find(words.begin(), words.end(), "--");
  Invocation invocation;
  if (end != words.end()) invocation.command.assign(end + 1, words.end());
  words.erase(end, words.end());

  CLI::App app("RailWave: expert-parallel communication over several rails per node", "railwave");
  add_verbs(app, invocation);
  if (const auto verb = check_verb(app, "railwave", words, 0); !verb) return report(verb.error());
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!invocation.command.empty() && !invocation.takes_command) {
    return report({ErrorCode::InvalidArgument, -1, "command",
                   fmt::format("'{}' after -- is a command, and only railwave emulate runs one",
                               invocation.command.front())});
  }
  return invocation.run();
}

/// Nothing that a verb throws ends the process without a word.
int run_to_the_end(int argc, char** argv) {
  try {
    return end_with(run(argc, argv));
  } catch (const std::bad_alloc&) {
    return report({ErrorCode::ResourceExhausted, -1, "memory",
                   "the system does not give what this needs; ask for less"});
  } catch (const std::length_error&) {
    return report({ErrorCode::ResourceExhausted, -1, "memory",
                   "no address space has what this needs; ask for less"});
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return output_lost(error.code().value());
    return report({ErrorCode::Internal, -1, "system", error.what()});
  } catch (const std::exception& error) {
    return report({ErrorCode::Internal, -1, "exception", error.what()});
  }
}

}  // namespace
}  // namespace railwave::cli

int main(int argc, char** argv) { return railwave::cli::run_to_the_end(argc, argv); }
