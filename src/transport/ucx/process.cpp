#include "ucx/process.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include <dlfcn.h>
#include <ucs/debug/debug.h>

// Exported by libucs in every release that is supported, but not always by an installed header.
extern "C" void ucs_log_push_handler(int (*handler)(const char* file, unsigned line,
                                                    const char* function, int level,
                                                    const void* component, const char* format,
                                                    std::va_list arguments));

namespace railwave::transport::ucx {
namespace {

constexpr int kStop = 0;  // UCS_LOG_FUNC_RC_STOP

int to_stderr(const char*, unsigned, const char*, int level, const void*, const char* format,
              std::va_list arguments) {
  constexpr std::array<const char*, 6> kNames{"FATAL", "ERROR", "WARN", "DIAG", "INFO", "DEBUG"};
  const auto index = static_cast<std::size_t>(std::max(level, 0));
  std::array<char, 1024> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  // One call, so that lines of several threads do not mix.
  std::fprintf(stderr, "UCX %s %s\n", kNames[std::min(index, kNames.size() - 1)], text.data());
  return kStop;
}

bool handled_by_ucx(int signal) {
  struct sigaction action {};
  if (::sigaction(signal, nullptr, &action) != 0) return false;
  const void* handler = (action.sa_flags & SA_SIGINFO) != 0
                            ? reinterpret_cast<const void*>(action.sa_sigaction)
                            : reinterpret_cast<const void*>(action.sa_handler);
  Dl_info where{};
  return handler != nullptr && ::dladdr(handler, &where) != 0 && where.dli_fname != nullptr &&
         std::string_view(where.dli_fname).find("libucs") != std::string_view::npos;
}

void tame() {
  if (std::getenv("UCX_LOG_FILE") == nullptr) ucs_log_push_handler(to_stderr);
  for (const int signal : {SIGHUP, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    // A handler that the host set after UCX's must stay.
    if (handled_by_ucx(signal)) ucs_debug_disable_signal(signal);
  }
}

}  // namespace

void tame_process() {
  // UCX's log and the signals belong to the process, so this state can not belong to a rail.
  static std::once_flag once;
  std::call_once(once, tame);
}

}  // namespace railwave::transport::ucx
