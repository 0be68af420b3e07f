#include "ucx/settings.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::transport::ucx {
namespace {

constexpr std::int64_t kDefaultSendSegment = 8192;
constexpr std::int64_t kDefaultReceiveSegment = 65536;
constexpr std::int64_t kLargest = std::int64_t{1} << 30;

bool is_1_17_or_later() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return major > 1 || minor >= 17;
}

/// Transport keys carry their prefix from UCX 1.17 on; the wrong form is ignored silently.
std::string tcp_key(const std::string& key) { return is_1_17_or_later() ? "TCP_" + key : key; }

const char* users(const std::string& key) { return std::getenv(("UCX_" + key).c_str()); }

/// UCX reads transport keys from the environment with their prefix only, in every release.
const char* users_tcp(const std::string& key) { return users("TCP_" + key); }

Status set(ucp_config_t* config, const std::string& key, const std::string& value) {
  const ucs_status_t status = ucp_config_modify(config, key.c_str(), value.c_str());
  if (status == UCS_OK) return {};
  return fail(ErrorCode::InvalidArgument, key,
              fmt::format("UCX refuses {}={}: {}", key, value, ucs_status_string(status)));
}

Status set_unless_users(ucp_config_t* config, const std::string& key, const std::string& value) {
  return users(key) != nullptr ? Status{} : set(config, key, value);
}

Status set_tcp(ucp_config_t* config, const std::string& key, const std::string& value) {
  return users_tcp(key) != nullptr ? Status{} : set(config, tcp_key(key), value);
}

Status check_size(const UcxRailOptions& options, const char* field, std::int64_t bytes) {
  if (bytes >= 0 && bytes <= kLargest) return {};
  return fail(ErrorCode::InvalidArgument, options.self, field,
              fmt::format("{} bytes; write 0 (UCX's default) to {}", bytes, kLargest));
}

Status check_sizes(const UcxRailOptions& options) {
  RAILWAVE_TRY(check_size(options, "send_buffer_bytes", options.send_buffer_bytes));
  RAILWAVE_TRY(check_size(options, "receive_buffer_bytes", options.receive_buffer_bytes));
  return check_size(options, "segment_bytes", options.segment_bytes);
}

Status set_bytes(ucp_config_t* config, const std::string& key, std::int64_t bytes) {
  return bytes == 0 ? Status{} : set_tcp(config, key, std::to_string(bytes));
}

/// Rendezvous costs a round trip through the queues of the rail for each frame, so only the user's
/// word switches it on. Without its registration cache UCX 1.17 and later then end the process when
/// a peer fails in mid-transfer (openucx/ucx issue 11467); "y" lets ucp_init() refuse that instead.
Status set_rendezvous(ucp_config_t* config) {
  const char* user = users("RNDV_THRESH");
  if (user == nullptr) return set(config, "RNDV_THRESH", "inf");
  const bool safe = user == std::string_view("inf") || !is_1_17_or_later();
  return safe ? Status{} : set(config, "RCACHE_ENABLE", "y");
}

Status set_for_tcp(ucp_config_t* config, const UcxRailOptions& options) {
  RAILWAVE_TRY(set_unless_users(config, "TLS", "tcp"));
  RAILWAVE_TRY(set_rendezvous(config));
  // Else ucp_ep_create waits in connect() for a peer whose link is cut.
  RAILWAVE_TRY(set_tcp(config, "CONN_NB", "y"));
  RAILWAVE_TRY(set_bytes(config, "SNDBUF", options.send_buffer_bytes));
  RAILWAVE_TRY(set_bytes(config, "RCVBUF", options.receive_buffer_bytes));
  RAILWAVE_TRY(set_bytes(config, "TX_SEG_SIZE", options.segment_bytes));
  if (options.segment_bytes > kDefaultReceiveSegment) {
    RAILWAVE_TRY(set_bytes(config, "RX_SEG_SIZE", options.segment_bytes));
  }
  return {};
}

/// "64k" -> 65536 as UCX reads it; 0 for what is no plain size ("inf", "auto").
std::int64_t ucx_size(const std::string& text) {
  std::int64_t number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || number < 0 || number > (std::int64_t{1} << 32)) return 0;
  const char unit = rest == text.data() + text.size() ? 'b' : *rest;
  switch (std::tolower(static_cast<unsigned char>(unit))) {
    case 'b':
      return number;
    case 'k':
      return number << 10;
    case 'm':
      return number << 20;
    default:
      return 0;
  }
}

std::int64_t segment(const std::string& key, std::int64_t ours) {
  const char* user = users_tcp(key);
  return user != nullptr ? ucx_size(user) : ours;
}

}  // namespace

bool is_rdma_device(std::string_view device) {
  const auto colon = device.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == device.size()) return false;
  const auto port = device.substr(colon + 1);
  return std::all_of(port.begin(), port.end(), [](unsigned char c) { return std::isdigit(c); });
}

Result<Config> read_config(const UcxRailOptions& options) {
  RAILWAVE_TRY(check_sizes(options));
  ucp_config_t* raw = nullptr;
  if (const ucs_status_t status = ucp_config_read(nullptr, nullptr, &raw); status != UCS_OK) {
    return fail(ErrorCode::InvalidArgument, "UCX_*",
                fmt::format("UCX does not understand its environment or ucx.conf ({}); its log "
                            "names the variable",
                            ucs_status_string(status)));
  }
  Config config(raw);
  RAILWAVE_TRY(set(config.get(), "NET_DEVICES", options.device));
  if (is_rdma_device(options.device)) {
    // Else UCX falls back to shared memory without a word when the device is not there.
    RAILWAVE_TRY(set_unless_users(config.get(), "TLS", "ib"));
  } else {
    RAILWAVE_TRY(set_for_tcp(config.get(), options));
  }
  return config;
}

Segments segments(const UcxRailOptions& options) {
  if (is_rdma_device(options.device)) return {};
  const std::int64_t ours = options.segment_bytes;
  return {segment("TX_SEG_SIZE", ours == 0 ? kDefaultSendSegment : ours),
          segment("RX_SEG_SIZE", std::max(ours, kDefaultReceiveSegment))};
}

}  // namespace railwave::transport::ucx
