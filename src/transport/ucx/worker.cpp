#include "ucx/worker.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "ucx/settings.hpp"

namespace railwave::transport::ucx {
namespace {

tl::unexpected<Error> refusal(const UcxRailOptions& options, const char* call,
                              ucs_status_t status) {
  const char* words = ucs_status_string(status);
  switch (status) {
    case UCS_ERR_NO_DEVICE:
      return fail(ErrorCode::LinkDown, options.self, "device",
                  fmt::format("UCX finds no usable network device '{}' here; see "
                              "/sys/class/net, is it up and has it an address?",
                              options.device));
    case UCS_ERR_NO_MEMORY:
    case UCS_ERR_NO_RESOURCE:
    case UCS_ERR_EXCEEDS_LIMIT:
      return fail(ErrorCode::ResourceExhausted, options.self, call,
                  fmt::format("UCX on device '{}': {}", options.device, words));
    default:
      return fail(ErrorCode::Internal, options.self, call,
                  fmt::format("UCX on device '{}': {}", options.device, words));
  }
}

Result<ContextHandle> open_context(const UcxRailOptions& options) {
  auto config = read_config(options);
  if (!config) return fail(config.error());
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  if (const auto status = ucp_init(&params, config->get(), &context); status != UCS_OK) {
    if (status == UCS_ERR_UNSUPPORTED && std::getenv("UCX_RNDV_THRESH") != nullptr) {
      return fail(ErrorCode::InvalidArgument, options.self, "UCX_RNDV_THRESH",
                  "rendezvous needs UCX's registration cache, which is missing, for example for "
                  "UCX_MEM_EVENTS=n; unset one of the two");
    }
    return refusal(options, "ucp_init", status);
  }
  return ContextHandle(context);
}

Result<WorkerHandle> create_worker(const UcxRailOptions& options, ucp_context_h context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
  // Not SINGLE: a rail may be opened in one thread and then driven by another.
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  params.events = UCP_WAKEUP_TX | UCP_WAKEUP_RX;
  ucp_worker_h worker = nullptr;
  if (const auto status = ucp_worker_create(context, &params, &worker); status != UCS_OK) {
    return refusal(options, "ucp_worker_create", status);
  }
  return WorkerHandle(worker);
}

Result<std::vector<std::byte>> address_of(const UcxRailOptions& options, ucp_worker_h worker) {
  ucp_address_t* raw = nullptr;
  std::size_t length = 0;
  if (const auto status = ucp_worker_get_address(worker, &raw, &length); status != UCS_OK) {
    return refusal(options, "ucp_worker_get_address", status);
  }
  const auto* first = reinterpret_cast<const std::byte*>(raw);
  std::vector<std::byte> address(first, first + length);
  ucp_worker_release_address(worker, raw);
  return address;
}

}  // namespace

Result<Worker> open_worker(const UcxRailOptions& options) {
  auto context = open_context(options);
  if (!context) return fail(context.error());
  auto worker = create_worker(options, context->get());
  if (!worker) return fail(worker.error());
  auto address = address_of(options, worker->get());
  if (!address) return fail(address.error());
  int fd = -1;
  if (const auto status = ucp_worker_get_efd(worker->get(), &fd); status != UCS_OK) {
    return refusal(options, "ucp_worker_get_efd", status);
  }
  return Worker{std::move(*context), std::move(*worker), fd, std::move(*address)};
}

void drain(const Worker& worker, Deadline deadline) {
  // Not ucp_worker_flush_nbx, which does not end when it begins while endpoints are closing.
  while (ucp_worker_progress(worker.worker.get()) != 0 && Clock::now() < deadline) continue;
}

}  // namespace railwave::transport::ucx
