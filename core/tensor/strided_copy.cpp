#include <array>
#include <cstring>

#include <simmesh/core/check/check.h>
#include <simmesh/core/tensor/strided_copy.h>

namespace simmesh {

namespace {

// Loop is one dim of the copy, strides in bytes.
struct Loop {
  std::int64_t size;
  std::int64_t target;
  std::int64_t source;
};
constexpr Loop one_turn{1, 0, 0};

// Loops lists the dims, outermost first. Many copies are of a few elements, so it stays in place,
// and loops are changed where they lie: a loop that was just written is slow to copy.
class Loops {
 public:
  // add makes the dim longer that is innermost so far, where walking both is the same as that.
  void add(std::int64_t size, std::int64_t target, std::int64_t source) {
    bool merges = count_ > 0 && loops_[count_ - 1].target == target * size &&
                  loops_[count_ - 1].source == source * size;
    if (!merges) loops_[count_++].size = 1;
    Loop& loop = loops_[count_ - 1];
    loop.size *= size;
    loop.target = target;
    loop.source = source;
  }

  // take_innermost returns the innermost loop and drops it; a loop of one turn where there is none.
  const Loop& take_innermost() { return count_ == 0 ? one_turn : loops_[--count_]; }
  bool innermost_steps(std::int64_t bytes) const {
    return count_ > 0 && loops_[count_ - 1].target == bytes && loops_[count_ - 1].source == bytes;
  }

  std::size_t count() const { return count_; }
  const Loop& operator[](std::size_t at) const { return loops_[at]; }

 private:
  std::array<Loop, std::size_t(dims_max)> loops_;
  std::size_t count_ = 0;
};

// The blocks of two loops. A block is what is contiguous on both sides; short ones are most of a
// copy's time, so each common size has code of its own.
struct Plane {
  const Loop& rows;
  const Loop& columns;

  template <class Copy>
  void for_each(std::byte* target, const std::byte* source, Copy copy) const {
    for (std::int64_t i = 0; i < rows.size; ++i) {
      std::byte* to = target + i * rows.target;
      const std::byte* from = source + i * rows.source;
      for (std::int64_t j = 0; j < columns.size; ++j) {
        copy(to, from);
        to += columns.target;
        from += columns.source;
      }
    }
  }

  template <std::size_t bytes>
  void copy_blocks(std::byte* target, const std::byte* source) const {
    for_each(target, source,
             [](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
  }

  // Blocks of 8 to 64 bytes in words of the given size; the last one may overlap the one before it.
  template <std::size_t word>
  void copy_words(std::byte* target, const std::byte* source, std::size_t bytes) const {
    for_each(target, source, [=](std::byte* to, const std::byte* from) {
      for (std::size_t at = 0; at + word < bytes; at += word) std::memcpy(to + at, from + at, word);
      std::memcpy(to + bytes - word, from + bytes - word, word);
    });
  }

  void copy(std::byte* target, const std::byte* source, std::size_t bytes) const {
    switch (bytes) {
      case 1: return copy_blocks<1>(target, source);
      case 2: return copy_blocks<2>(target, source);
      case 4: return copy_blocks<4>(target, source);
      case 8: return copy_blocks<8>(target, source);
      case 16: return copy_blocks<16>(target, source);
      case 32: return copy_blocks<32>(target, source);
      case 64: return copy_blocks<64>(target, source);
      default: break;
    }
    if (bytes > 8 && bytes < 16) return copy_words<8>(target, source, bytes);
    if (bytes > 16 && bytes < 64) return copy_words<16>(target, source, bytes);
    for_each(target, source,
             [=](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
  }
};

struct BlockCopy {
  const Loops& loops;  // around the plane's
  Plane plane;
  std::size_t block_bytes;

  void run(std::size_t level, std::byte* target, const std::byte* source) const {
    if (level == loops.count()) return plane.copy(target, source, block_bytes);
    const Loop& loop = loops[level];
    for (std::int64_t i = 0; i < loop.size; ++i)
      run(level + 1, target + i * loop.target, source + i * loop.source);
  }
};

}  // namespace

void strided_copy(const StridedBytes& target, const ConstStridedBytes& source, DimSpan shape,
                  std::size_t element_bytes) {
  SIMMESH_CHECK(std::int64_t(shape.size()) <= dims_max, "{} dims to copy", shape.size());
  auto element = std::int64_t(element_bytes);
  Loops loops;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 0) return;
    if (shape[dim] > 1)
      loops.add(shape[dim], target.strides[dim] * element, source.strides[dim] * element);
  }
  std::size_t block_bytes = element_bytes;
  if (loops.innermost_steps(element)) block_bytes *= std::size_t(loops.take_innermost().size);
  const Loop& columns = loops.take_innermost();
  const Loop& rows = loops.take_innermost();
  BlockCopy{loops, {rows, columns}, block_bytes}.run(0, target.data, source.data);
}

}  // namespace simmesh
