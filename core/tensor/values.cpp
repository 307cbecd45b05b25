#include "core/tensor/values.h"

#include "core/check/error.h"
#include "core/engine/ranks/rank.h"

namespace simmesh {

void refuse_index(std::size_t index, std::size_t count, const CallSite& line) {
  std::string rank = in_rank() ? fmt::format("rank {}: ", this_rank().id()) : "";
  raise(ErrorKind::index_error, "tensor/values",
        "{}expected an index below {}, the number of elements, got {} at {}", rank, count,
        std::ptrdiff_t(index), to_string(line));
}

}  // namespace simmesh
