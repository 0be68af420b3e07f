#include "line_forwarder.hpp"

#include <array>
#include <cerrno>
#include <string_view>

#include <poll.h>
#include <unistd.h>

namespace railwave::testbed {
namespace {

/// A longer line is passed on in parts.
constexpr std::size_t kLongestLine = 1 << 20;

/// Output that nobody can take any more is dropped: it must not end the run.
void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(to, text.data(), text.size());
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    if (count >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return;
    pollfd watched{to, POLLOUT, 0};
    ::poll(&watched, 1, -1);
  }
}

}  // namespace

LineForwarder::LineForwarder(UniqueFd from, int to, std::string prefix)
    : from_(std::move(from)), to_(to), prefix_(std::move(prefix)) {}

void LineForwarder::pass_on(std::size_t size) {
  std::string_view text(pending_.data(), size);
  if (prefix_.empty()) {
    write_all(to_, text);
  } else {
    std::string tagged;
    while (!text.empty()) {
      const auto line = text.substr(0, text.find('\n') + 1);
      const auto taken = line.empty() ? text : line;
      tagged += prefix_;
      tagged += taken;
      text.remove_prefix(taken.size());
    }
    write_all(to_, tagged);
  }
  pending_.erase(0, size);
}

bool LineForwarder::forward() {
  std::array<char, 65536> piece{};
  const auto count = ::read(from_.get(), piece.data(), piece.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (count <= 0) {
    if (!pending_.empty()) {
      pending_ += '\n';
      pass_on(pending_.size());
    }
    return false;
  }
  pending_.append(piece.data(), static_cast<std::size_t>(count));
  const auto last = pending_.rfind('\n');
  if (last != std::string::npos) pass_on(last + 1);
  if (pending_.size() > kLongestLine) pass_on(pending_.size());
  return true;
}

}  // namespace railwave::testbed
