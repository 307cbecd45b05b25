#include <cstring>

#include <simmesh/core/tensor/strided_copy.h>

namespace simmesh {

namespace {

// Loop is one dim of the copy, strides in bytes.
struct Loop {
  std::int64_t size;
  std::int64_t target;
  std::int64_t source;
};
using Loops = boost::container::small_vector<Loop, 6>;

// Merges dims, outermost first, where walking both is the same as walking one longer dim.
Loops merged_loops(const StridedBytes& target, const ConstStridedBytes& source, DimSpan shape,
                   std::int64_t element_bytes) {
  Loops loops;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 1) continue;
    Loop loop{shape[dim], target.strides[dim] * element_bytes, source.strides[dim] * element_bytes};
    if (!loops.empty() && loops.back().target == loop.target * loop.size &&
        loops.back().source == loop.source * loop.size) {
      loop.size *= loops.back().size;
      loops.pop_back();
    }
    loops.push_back(loop);
  }
  return loops;
}

template <class Word>
void copy_words(std::byte* target, const std::byte* source, const Loop& loop) {
  for (std::int64_t i = 0; i < loop.size; ++i)
    std::memcpy(target + i * loop.target, source + i * loop.source, sizeof(Word));
}

void copy_row(std::byte* target, const std::byte* source, const Loop& loop,
              std::size_t element_bytes) {
  switch (element_bytes) {
    case 1: return copy_words<std::uint8_t>(target, source, loop);
    case 2: return copy_words<std::uint16_t>(target, source, loop);
    case 4: return copy_words<std::uint32_t>(target, source, loop);
    default: return copy_words<std::uint64_t>(target, source, loop);
  }
}

struct Copy {
  const Loops& loops;
  std::size_t
      block_bytes;  // of the innermost contiguous run; 0 where elements are copied one by one
  std::size_t element_bytes;

  void run(std::size_t level, std::byte* target, const std::byte* source) const {
    if (level == loops.size()) {
      std::memcpy(target, source, block_bytes ? block_bytes : element_bytes);
      return;
    }
    const Loop& loop = loops[level];
    if (level + 1 == loops.size() && block_bytes == 0)
      return copy_row(target, source, loop, element_bytes);
    for (std::int64_t i = 0; i < loop.size; ++i)
      run(level + 1, target + i * loop.target, source + i * loop.source);
  }
};

}  // namespace

void strided_copy(const StridedBytes& target, const ConstStridedBytes& source, DimSpan shape,
                  std::size_t element_bytes) {
  for (std::int64_t size : shape)
    if (size == 0) return;
  Loops loops = merged_loops(target, source, shape, std::int64_t(element_bytes));
  std::size_t block_bytes = 0;
  if (!loops.empty() && loops.back().target == std::int64_t(element_bytes) &&
      loops.back().source == std::int64_t(element_bytes)) {
    block_bytes = std::size_t(loops.back().size) * element_bytes;
    loops.pop_back();
  }
  Copy{loops, block_bytes, element_bytes}.run(0, target.data, source.data);
}

}  // namespace simmesh
