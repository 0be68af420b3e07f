// The step of D01, which other cases repeat to see that a group is still usable.
#pragma once

#include "comm/cases/step.hpp"

namespace cases {

/// P=4, E=8, K=2, H=64, w=[0.75, 0.25], T=[3, 0, 2, 1].
Step first_step();
/// Compares with the counts and sums worked out by hand.
void expect_first_step(const Rank& rank, const Seen& seen);

}  // namespace cases
