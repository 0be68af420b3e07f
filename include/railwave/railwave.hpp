// Everything of RailWave's C++ interface.
#pragma once

#include <railwave/communicator.hpp>   // IWYU pragma: export
#include <railwave/dtype.hpp>          // IWYU pragma: export
#include <railwave/error.hpp>          // IWYU pragma: export
#include <railwave/ids.hpp>            // IWYU pragma: export
#include <railwave/path.hpp>           // IWYU pragma: export
#include <railwave/phase_report.hpp>   // IWYU pragma: export
#include <railwave/placement.hpp>      // IWYU pragma: export
#include <railwave/row_layout.hpp>     // IWYU pragma: export
#include <railwave/shared_buffer.hpp>  // IWYU pragma: export
#include <railwave/ticket.hpp>         // IWYU pragma: export
#include <railwave/topology.hpp>       // IWYU pragma: export
