#pragma once

namespace simmesh {

// release_upper_halves tells the processor that the upper halves of the vector registers aren't
// needed. A library that leaves them in use makes SSE code up to four times slower from then on, on
// processors with AVX-512. Call this after each call of such a library.
void release_upper_halves();

}  // namespace simmesh
