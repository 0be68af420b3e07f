// NumPy's .npy container, versions 1 and 2. Private to the room.
#pragma once

#include "array_file.hpp"

namespace railwave::workload {

/// Parses the header of `file`'s bytes and sets data_offset, type and shape.
/// Errors: InvalidArgument{trace} with the byte offset for a malformed header or a size that does
/// not match the shape; Unsupported{trace} for another version, element type, byte order, or
/// Fortran order.
Status parse_npy(ArrayFile& file);

}  // namespace railwave::workload
