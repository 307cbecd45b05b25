#pragma once

#include <cstddef>
#include <gsl/span>

namespace simmesh {

// stream_copy copies bytes to where nobody reads them soon: past the caches, so that memory isn't
// read before it is overwritten. For targets that are larger than the caches. The two don't
// overlap.
void stream_copy(std::byte* target, gsl::span<const std::byte> source);

}  // namespace simmesh
