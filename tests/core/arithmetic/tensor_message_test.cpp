#include "core/arithmetic/tensor_message.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/arithmetic/unrounded.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

using Read = Tensor (*)(MessageReader&, DType, const Shape&);

Tensor sent(const Tensor& tensor, Read read = read_tensor) {
  MessageWriter writer;
  write_tensor(writer, tensor);
  ProcessBytes bytes = writer.take();
  MessageReader reader(bytes);
  Tensor came = read(reader, tensor.dtype(), tensor.shape());
  EXPECT_TRUE(reader.rest().empty());
  return came;
}

// A tensor that isn't contiguous, or is empty, would come as another one.
TEST(TensorMessage, GivesTheElementsInRowOrder) {
  Tensor x = formula(Dims{4, 6}, {.rule = Rule::unit, .dtype = DType::float64});
  for (const Tensor& one : {x, x.transpose(0, 1), x.narrow({1, 2, 3}), x.narrow({0, 0, 0})})
    for (Read read : {read_tensor, view_tensor}) EXPECT_TRUE(same_bits(sent(one, read), one));
}

// Operands would be copied once more, or tensors of one message would lie over one another.
TEST(TensorMessage, ViewsHaveTheBytesOfTheMessage) {
  Tensor x = formula(Dims{5}, {.rule = Rule::unit, .dtype = DType::float32});
  Tensor y = formula(Dims{3}, {.rule = Rule::unit, .dtype = DType::float64});
  MessageWriter writer;
  writer.reserve(tensor_message_bytes(x) + tensor_message_bytes(y));
  const std::size_t room = writer.take().buffer()->bytes();
  write_tensor(writer, x);
  write_tensor(writer, y);
  ProcessBytes bytes = writer.take();
  EXPECT_LE(bytes.size(), room);
  MessageReader reader(bytes);
  Tensor viewed_x = view_tensor(reader, x.dtype(), x.shape());
  Tensor viewed_y = view_tensor(reader, y.dtype(), y.shape());
  EXPECT_EQ(viewed_x.storage()->buffer(), bytes.buffer());
  EXPECT_EQ(viewed_y.storage()->buffer(), bytes.buffer());
  bytes = {};
  EXPECT_TRUE(same_bits(viewed_x, x));
  EXPECT_TRUE(same_bits(viewed_y, y));
}

// Sums that cancel would be rounded on their way, and an infinity would be lost.
TEST(TensorMessage, TakesUnroundedSumsAsTheyAre) {
  Tensor big = full(Dims{6}, DType::float32, 1e8), small = full(Dims{6}, DType::float32, 0.25);
  small.mutable_values<float>()[2] = std::numeric_limits<float>::infinity();
  const Tensor terms[] = {big, small};
  Tensor sum = empty(Dims{6}, DType::float32);
  reduce_unrounded({.operands = terms}, sum, true);
  for (const Tensor& part : {sum, sum.narrow({0, 1, 4})}) {
    Tensor came = sent(part);
    EXPECT_TRUE(is_unrounded(came));
    EXPECT_TRUE(is_unrounded(sent(part, view_tensor)));
    Tensor less = full(part.shape(), DType::float32, -1e8);
    const Tensor there[] = {came, less}, here[] = {part, less};
    Tensor a = empty(part.shape(), DType::float32), b = empty(part.shape(), DType::float32);
    reduce_unrounded({.operands = there}, a, false);
    reduce_unrounded({.operands = here}, b, false);
    EXPECT_TRUE(same_bits(a, b));
    EXPECT_EQ(a.values<float>()[0], 0.25f);
  }
}

}  // namespace
}  // namespace simmesh
