// A handwritten device function, which the Spork instruction `softsign` calls.
#pragma once

namespace handwritten {

__device__ inline float softsign(float x) { return x / (1.0f + (x < 0.0f ? -x : x)); }

} // namespace handwritten
