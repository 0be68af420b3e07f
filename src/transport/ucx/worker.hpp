// One UCX context and worker on one network device.
#pragma once

#include <memory>
#include <vector>

#include <ucp/api/ucp.h>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"
#include "transport/ucx_rail.hpp"

namespace railwave::transport::ucx {

struct CleanContext {
  void operator()(ucp_context_h context) const { ucp_cleanup(context); }
};
struct DestroyWorker {
  void operator()(ucp_worker_h worker) const { ucp_worker_destroy(worker); }
};
using ContextHandle = std::unique_ptr<ucp_context, CleanContext>;
using WorkerHandle = std::unique_ptr<ucp_worker, DestroyWorker>;

/// Destroyed in this order: worker, context.
struct Worker {
  ContextHandle context;
  WorkerHandle worker;
  int wait_fd = -1;                ///< the worker's, level-triggered after ucp_worker_arm
  std::vector<std::byte> address;  ///< what ucp_ep_create takes on the peers
};

/// Errors: see open_ucx_rail().
Result<Worker> open_worker(const UcxRailOptions& options);

/// Lets UCX finish what closing endpoints by force leaves for later, at most until `deadline`.
/// Comes before the worker is destroyed: else UCX 1.18 does the rest in ucp_worker_destroy() and
/// frees some of its callbacks twice.
void drain(const Worker& worker, Deadline deadline);

}  // namespace railwave::transport::ucx
