#include "core/arithmetic/products/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "core/kernels/instruction_set.h"
#include "core/tensor/tensor.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

// Three lines of two elements: 1 2, 3 4, 5 6.
template <class T>
ProductOperand three_lines(const T* data) {
  return {reinterpret_cast<const std::byte*>(data), dtype_of<T>, 2, 1};
}

template <class T, class S>
std::vector<T> packed(const ProductOperand& operand, const Panels& panels, const S&) {
  std::vector<T> first;
  for (InstructionSet set : available_instruction_sets()) {
    std::vector<T> out(std::size_t(panels.elements()), T(-7));
    pack_panels(operand, panels, kernels_of(set), out.data());
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << to_string(set);
  }
  return first;
}

// If this fails, a product multiplies elements of other lines or depths, or adds what lay in memory
// where the last panel has no lines.
template <class S>
void expect_panels() {
  const S data[] = {S(1), S(2), S(3), S(4), S(5), S(6)};
  ProductOperand rows = three_lines(data);
  Panels two_wide{.line_count = 3, .depth = 2, .width = 2};
  EXPECT_EQ(two_wide.elements(), 8);
  EXPECT_THAT(packed<float>(rows, two_wide, S()), ElementsAre(1, 3, 2, 4, 5, 0, 6, 0));
  EXPECT_THAT(packed<double>(rows, two_wide, S()), ElementsAre(1, 3, 2, 4, 5, 0, 6, 0));
  Panels part{.line_begin = 1, .line_count = 2, .depth_begin = 1, .depth = 1, .width = 4};
  EXPECT_THAT(packed<double>(rows, part, S()), ElementsAre(4, 6, 0, 0));
  // The transposed operand has two lines of three elements.
  Panels columns{.line_count = 2, .depth = 3, .width = 2};
  EXPECT_THAT(packed<float>(transposed(rows), columns, S()), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Packing, CutsLinesIntoPanelsFromEveryDtype) {
  expect_panels<double>();
  expect_panels<float>();
  expect_panels<BFloat16>();
  expect_panels<Half>();
}

// If this fails, an exact product scales by another line's factor, or an infinity spoils digits
// that are taken apart.
TEST(Packing, ScalesLinesAndZeroesWhatIsNotFinite) {
  const float data[] = {1, 2, 3, std::numeric_limits<float>::infinity(), 5, 6};
  const double scales[] = {2, 4, 8}, more[] = {1, 10, 100};
  Panels panels{.line_count = 3, .depth = 2, .width = 3, .scales = scales};
  EXPECT_THAT(packed<double>(three_lines(data), panels, 0.0f), ElementsAre(2, 12, 40, 4, 0, 48));
  panels.offset = 0.5;
  EXPECT_THAT(packed<double>(three_lines(data), panels, 0.0f),
              ElementsAre(2.5, 12.5, 40.5, 4.5, 0.5, 48.5));
  panels.offset = 0;
  panels.more_scales = more;
  EXPECT_THAT(packed<double>(three_lines(data), panels, 0.0f),
              ElementsAre(2, 120, 4000, 4, 0, 4800));
}

}  // namespace
}  // namespace simmesh
