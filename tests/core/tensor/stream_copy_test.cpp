#include "core/tensor/stream_copy.h"

#include <gtest/gtest.h>
#include <vector>

namespace simmesh {
namespace {

// If this fails, bytes before the first or after the last full cache line are lost, or bytes around
// the target are overwritten.
TEST(StreamCopy, CopiesAnyLengthFromAndToAnywhere) {
  std::vector<std::byte> source(700);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = std::byte(i * 37 % 251);
  for (std::size_t length : {0u, 1u, 15u, 63u, 64u, 65u, 128u, 200u, 513u})
    for (std::size_t to = 0; to < 66; ++to)
      for (std::size_t from : {0u, 1u, 16u, 63u}) {
        std::vector<std::byte> target(700, std::byte{0xEE});
        std::vector<std::byte> expected = target;
        for (std::size_t i = 0; i < length; ++i) expected[to + i] = source[from + i];
        stream_copy(target.data() + to, {source.data() + from, length});
        ASSERT_EQ(target, expected) << length << " bytes from " << from << " to " << to;
      }
}

}  // namespace
}  // namespace simmesh
