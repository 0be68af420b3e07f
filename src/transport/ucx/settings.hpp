// Which UCX settings a rail needs, laid over the user's.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <ucp/api/ucp.h>

#include <railwave/error.hpp>

#include "transport/ucx_rail.hpp"

namespace railwave::transport::ucx {

struct ReleaseConfig {
  void operator()(ucp_config_t* config) const { ucp_config_release(config); }
};
using Config = std::unique_ptr<ucp_config_t, ReleaseConfig>;

/// True for names with a port, like "mlx5_0:1"; every other device is spoken to by TCP.
bool is_rdma_device(std::string_view device);

/// UCX's configuration with the rail's settings on top. Strongest first: the device; UCX_* of the
/// environment; the rail's settings; ucx.conf; UCX's defaults. (A setting of ucx.conf can not be
/// told from a default, so the rail's wins.)
/// Errors: InvalidArgument for an option out of range or a malformed UCX_* variable.
Result<Config> read_config(const UcxRailOptions& options);

/// The largest segment that a TCP rail sends and accepts, bytes; 0 when that can not be known.
/// UCX 1.13 and 1.18 end the *receiver's* process when a segment is larger than it accepts.
struct Segments {
  std::int64_t send = 0;
  std::int64_t receive = 0;
};
Segments segments(const UcxRailOptions& options);

}  // namespace railwave::transport::ucx
