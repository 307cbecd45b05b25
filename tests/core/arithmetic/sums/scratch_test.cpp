#include "core/arithmetic/sums/scratch.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// If this fails, each small product touches new pages.
TEST(Scratch, GivesTheSameMemoryAgain) {
  double* first = nullptr;
  {
    Scratch scratch;
    first = scratch.take<double>(100'000);
    first[99'999] = 1;
  }
  Scratch scratch;
  EXPECT_EQ(scratch.take<double>(100'000), first);
}

// If this fails, two computations share memory, or vectors cross cache lines.
TEST(Scratch, PiecesAreApartAndAligned) {
  Scratch scratch, other;
  for (std::int64_t count : {0, 1, 1000}) {
    auto* a = scratch.take<float>(count);
    auto* b = other.take<float>(count);
    EXPECT_NE(a, b);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 64, 0u);
  }
}

}  // namespace
}  // namespace simmesh
