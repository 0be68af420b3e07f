// A fixed set of tables and phases and the selector's answers, as text.
#pragma once

#include <string>

namespace railwave::select {

/// The same in every build, or the selector depends on how it was compiled.
std::string answers();

}  // namespace railwave::select
