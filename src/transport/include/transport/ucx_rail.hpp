// A rail over UCX: one context and worker bound to one network device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "transport/rail.hpp"

namespace railwave::transport {

struct UcxRailOptions {
  RankId self;
  RailId rail;
  std::string device;  ///< network device, for example "rail0" or "mlx5_0:1"
  /// TCP settings, used when the device is no RDMA device and the user's environment does not set
  /// the same UCX variable; 0 leaves UCX's default.
  std::int64_t send_buffer_bytes = 0;     ///< SNDBUF
  std::int64_t receive_buffer_bytes = 0;  ///< RCVBUF
  std::int64_t segment_bytes = 65536;     ///< TX_SEG_SIZE; must not exceed the peers' RX_SEG_SIZE
};

/// Opens the device. Errors: InvalidArgument for a malformed UCX_* variable or for UCX_RNDV_THRESH
/// without a registration cache (UCX 1.17 and later), LinkDown when the device does not exist
/// (names it), ResourceExhausted, Internal with UCX's own words.
Result<std::unique_ptr<Rail>> open_ucx_rail(const UcxRailOptions& options);

}  // namespace railwave::transport
