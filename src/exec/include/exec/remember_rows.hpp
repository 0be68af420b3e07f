// What a finished dispatch leaves in its handle.
#pragma once

#include "exec/dispatch.hpp"
#include "exec/handle_state.hpp"
#include "exec/phase.hpp"

namespace railwave::exec {

/// The handle's parts that come from the metas in memory after a dispatch.
void remember_rows(const DispatchContext& context, const Phase& phase, const OwnPlaces& places,
                   HandleState& handle);

}  // namespace railwave::exec
