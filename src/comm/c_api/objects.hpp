// What the opaque types of the C interface hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <railwave/communicator.hpp>
#include <railwave/placement.hpp>
#include <railwave/railwave.h>
#include <railwave/shared_buffer.hpp>
#include <railwave/ticket.hpp>
#include <railwave/topology.hpp>

#include "base/fail.hpp"

struct railwave_topology {
  railwave::Topology value;
};

struct railwave_placement {
  railwave::Placement value;
};

struct railwave_group {
  railwave::Communicator value;
  int rails = 0;
  /// A step threw: its ranks are at different places.
  std::atomic<bool> broken{false};
};

struct railwave_buffer {
  railwave::SharedBuffer value;
};

struct railwave_handle {
  railwave::Handle value;
  std::int64_t tokens = 0;
  std::int64_t top_k = 0;
};

namespace railwave::c_api {

/// What a dispatch leaves for those who ask about its result.
struct DispatchSizes {
  std::int64_t tokens = 0;
  std::int64_t top_k = 0;
  int rails = 0;
};

}  // namespace railwave::c_api

struct railwave_received {
  railwave::Received value;
  railwave::c_api::DispatchSizes sizes;
};

/// Of a dispatch or of a combine.
struct railwave_ticket {
  railwave::Ticket<railwave::Received> dispatch;
  railwave::Ticket<railwave::PhaseReport> combine;
  railwave::c_api::DispatchSizes sizes;  // of a combine `rails` alone
};

namespace railwave::c_api {

inline Status check_not_null(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return fail(ErrorCode::InvalidArgument, name, "it is NULL");
}

/// Hands an object to the caller.
template <class Object, class Value>
Status hand_out(Result<Value> made, Object** out) {
  if (!made) return fail(std::move(made).error());
  *out = new Object{*std::move(made)};
  return {};
}

}  // namespace railwave::c_api
