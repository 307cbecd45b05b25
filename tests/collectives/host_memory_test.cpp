#include "collectives/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

#include "core/arithmetic/companions/exact_record.h"
#include "core/check/error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

HostArray array_of(std::vector<float>& values, Shape shape, Strides strides) {
  return {reinterpret_cast<std::byte*>(values.data()), DType::float32, std::move(shape),
          std::move(strides)};
}

ResultPart part_of(const Tensor& tensor) {
  return {tensor.storage()->buffer(), tensor.storage()->buffer_offset(), tensor.shape(),
          tensor.dtype()};
}

TEST(HostMemory, LoadsAndStoresThroughAnyStrides) {
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), 0.0f);
  HostArray columns = array_of(values, {2, 3}, {1, 4});
  HostMemory memory({columns}, {columns});
  ASSERT_EQ(memory.placeholders().size(), 1u);
  EXPECT_FALSE(memory.placeholders()[0].has_elements());
  EXPECT_THAT(memory.placeholders()[0].shape(), ElementsAre(2, 3));
  Tensor loaded;
  memory.load({&loaded, 1});
  EXPECT_THAT(loaded.values<float>(), ElementsAre(0, 4, 8, 1, 5, 9));
  memory.store(std::vector{part_of(full({2, 3}, DType::float32, -1))});
  EXPECT_THAT(values, ElementsAre(-1, -1, 2, 3, -1, -1, 6, 7, -1, -1, 10, 11));
}

// As uint8 with its highest bit inverted, int8 has its order.
TEST(HostMemory, InvertsBitsOnTheWayInAndOut) {
  std::vector<std::int8_t> values{-128, 0, 0, 127};
  HostArray ends{reinterpret_cast<std::byte*>(values.data()), DType::uint8, {2}, {3}};
  ends.inverted_bits = std::byte(0x80);
  HostMemory memory({ends}, {ends});
  Tensor loaded;
  memory.load({&loaded, 1});
  EXPECT_THAT(loaded.values<std::uint8_t>(), ElementsAre(0, 255));
  Tensor ones = full({2}, DType::uint8, 1);
  memory.store(std::vector{part_of(ones)});
  EXPECT_THAT(values, ElementsAre(-127, 0, 0, -127));
  EXPECT_THAT(ones.values<std::uint8_t>(), ElementsAre(1, 1));
}

// Loaded values are a copy: a later write to the memory must not reach it.
TEST(HostMemory, LoadsCopies) {
  std::vector<float> values{1};
  HostMemory memory({array_of(values, {1}, {1})}, {});
  Tensor loaded;
  memory.load({&loaded, 1});
  values[0] = 2;
  EXPECT_EQ(loaded.values<float>()[0], 1);
}

TEST(HostMemory, TakesArraysWithoutElements) {
  HostArray nothing{nullptr, DType::float32, {0, 4}, {4, 1}};
  HostMemory memory({nothing}, {nothing});
  Tensor loaded;
  memory.load({&loaded, 1});
  EXPECT_EQ(loaded.numel(), 0);
  memory.store(std::vector{part_of(empty({0, 4}, DType::float32))});
}

TEST(HostMemory, RefusesPartsOfAnotherSizeOrDtype) {
  std::vector<float> values(4);
  HostMemory memory({}, {array_of(values, {4}, {1})});
  EXPECT_THROW(memory.store(std::vector{part_of(zeros({3}, DType::float32))}), Error);
  EXPECT_THROW(memory.store(std::vector{part_of(zeros({4}, DType::int32))}), Error);
}

// If this fails, a result keeps what stood behind its elements before, or not what came with it.
TEST(HostMemory, TakesExactValuesThroughRecords) {
  std::vector<float> from(2), to(2);
  ExactRecord behind_from, behind_to;
  HostArray operand = array_of(from, {2}, {1}), result = array_of(to, {2}, {1});
  operand.record = &behind_from;
  result.record = &behind_to;
  ElementsOfStorage source{{operand.data, operand.dtype, {2}, {1}}};
  ElementsOfStorage target{{result.data, result.dtype, {2}, {1}}};
  behind_from.write(source, ExactValues::of_doubles({1, 2}).divided(7));
  HostMemory memory({operand}, {result});
  Tensor loaded;
  memory.load({&loaded, 1});
  memory.store(std::vector{part_of(loaded)});
  ASSERT_TRUE(behind_to.read(target));
  EXPECT_EQ(behind_to.read(target)->divisor(), 7);
  EXPECT_EQ(to, from);
  behind_from.drop(source);
  memory.load({&loaded, 1});
  memory.store(std::vector{part_of(loaded)});
  EXPECT_FALSE(behind_to.read(target));
}

}  // namespace
}  // namespace simmesh
