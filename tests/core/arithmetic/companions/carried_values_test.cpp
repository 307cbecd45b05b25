#include "core/arithmetic/companions/carried_values.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "core/arithmetic/unrounded.h"

namespace simmesh {
namespace {

// Floats of a host, with a record of what stands behind them.
struct RecordedFloats {
  std::vector<float> data;
  ExactRecord record;
  explicit RecordedFloats(std::size_t count) : data(count) {}

  ElementsOfStorage array(Shape shape, Strides strides) {
    return {{reinterpret_cast<std::byte*>(data.data()), DType::float32, std::move(shape),
             std::move(strides)}};
  }
  ElementsOfStorage all() { return array({std::int64_t(data.size())}, {1}); }
  void write(const ExactValues& values) { record.write(all(), values); }
  // Returns a contiguous copy of elements, with what stands behind them.
  Tensor copy_of(const ElementsOfStorage& elements, double factor = 1.0) {
    Tensor copy = empty(elements.array.shape, DType::float32);
    RowMajorElements rows(elements.array);
    std::copy(rows.data(), rows.data() + copy.bytes(), copy.mutable_data());
    carry_in({elements, &record, factor}, copy);
    return copy;
  }
};

std::optional<ExactValues> values_in(const Tensor& tensor) {
  return carried_values({*tensor.storage()->buffer(), tensor.storage()->buffer_offset(),
                         tensor.dtype(), tensor.numel()});
}

ExactValues sevenths(std::vector<double> numbers) {
  return ExactValues::of_doubles(std::move(numbers)).divided(7);
}

// If this fails, values are lost or exchanged on the way through a tensor, or rounded.
TEST(CarriedValues, TensorsTakeThemAlong) {
  RecordedFloats from(6);
  from.write(sevenths({1, 2, 3, 4, 5, 6}));
  Tensor columns = from.copy_of(from.array({3, 2}, {1, 3}));
  std::optional<ExactValues> values = values_in(columns);
  ASSERT_TRUE(values);
  EXPECT_EQ(values->plus(sevenths({1, 4, 2, 5, 3, 6}), -1).sums().digit_count(), 0);
  Tensor plain = empty({2}, DType::float32);
  EXPECT_FALSE(values_in(plain));
  // A part of a joined buffer: two plain elements, then three of the tensor.
  Tensor joined = full({8}, DType::float32, 4);
  Tensor target = joined.narrow({.dim = 0, .start = 2, .length = 6});
  copy_(target, columns.view(Dims{6}));
  share_unrounded(target, columns.view(Dims{6}));
  std::optional<ExactValues> part =
      carried_values({*joined.storage()->buffer(), 4, DType::float32, 4});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->plus(sevenths({28, 1, 4, 2}), -1).sums().digit_count(), 0);
}

// If this fails, a scaled operand is rounded, or isn't scaled where nothing stands behind it.
TEST(CarriedValues, FactorsScaleExactly) {
  RecordedFloats from(2);
  from.write(sevenths({1, 2}));
  EXPECT_EQ(unrounded(from.copy_of(from.all(), 1.0 / 3)).divisor(), 21);
  from.data = {1, 2};
  EXPECT_EQ(unrounded(from.copy_of(from.all(), 1.0 / 3)).divisor(), 3);
  EXPECT_FALSE(values_in(from.copy_of(from.all())));
}

// If this fails, a norm arrives as another number, or is added as what is under its root.
TEST(CarriedValues, RootsAreMovedAndAddedAsElements) {
  RecordedFloats from(2);
  from.write(ExactValues::of_doubles({2, 3}).root());
  Tensor norms = from.copy_of(from.all());
  EXPECT_TRUE(values_in(norms)->is_root());
  EXPECT_EQ(values_in(norms)->square().sums().rounded(1, DType::float64), 3);
  EXPECT_EQ(unrounded(norms).rounded(0, DType::float64), double(std::sqrt(2.f)));
  Tensor joined = full({4}, DType::float32, 9), first = joined.narrow({0, 0, 2});
  share_unrounded(first, norms);
  EXPECT_TRUE(values_in(joined)->is_root());
  Tensor third = full({2}, DType::float32, 0), last = joined.narrow({0, 2, 2});
  write_unrounded(third, sevenths({1, 2}).sums());
  share_unrounded(last, third);
  EXPECT_FALSE(values_in(joined)->is_root());
  EXPECT_EQ(values_in(joined)->divisor(), 7);
}

}  // namespace
}  // namespace simmesh
