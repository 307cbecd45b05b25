#pragma once

namespace simmesh {

// release_upper_halves says that nobody needs the upper halves of the vector registers. A library
// that leaves them in use makes what is compiled for SSE up to four times slower from then on, on
// processors with AVX-512; so calls of one that does are followed by this.
void release_upper_halves();

}  // namespace simmesh
