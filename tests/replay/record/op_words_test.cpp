#include "replay/record/op_words.h"

#include <gtest/gtest.h>

#include "core/ops/attribute_names.h"

namespace simmesh::replay {
namespace {

const Op scale = {.name = "scale"};
const Op own = {.name = "my::scale rows"};

constexpr Attribute<bool> keep{"keep"};

TEST(OpWords, SayHowAnOpWasCalled) {
  std::vector<Tensor> inputs = {zeros({2}, DType::float32), Tensor()};
  Attributes attributes = {attribute::dims = Dims{1}, keep = true,
                           attribute::dtype = DType::float16};
  OpCall call{scale, inputs, attributes};
  EXPECT_EQ(recorded_name(call), "aten::scale");
  EXPECT_EQ(schema_of(call, 1),
            "aten::scale(Tensor input0, Tensor? input1, *, int[] dims, bool keep, ScalarType "
            "dtype) -> Tensor");
  EXPECT_TRUE(schema_of(call, 2).ends_with("dtype) -> (Tensor, Tensor)"));
  call.destination = Destination::in_place;
  EXPECT_EQ(recorded_name(call), "aten::scale_");
  EXPECT_EQ(schema_of(call, 1).substr(0, 31), "aten::scale_(Tensor(a!) input0,");
  Attributes none;
  OpCall written{own, {}, none, Destination::out};
  EXPECT_EQ(schema_of(written, 1), "my::scale_rows.out() -> Tensor(a!)");
  OpCall of_numbers{own, {}, attributes};
  EXPECT_EQ(schema_of(of_numbers, 0),
            "my::scale_rows(*, int[] dims, bool keep, ScalarType dtype) -> ()");
}

TEST(OpWords, SayWhatADeviceDid) {
  std::vector<Tensor> tensors = {zeros({2}, DType::float32)};
  TensorLaunch kernel{.name = "copy in", .reads = tensors, .writes = tensors};
  EXPECT_EQ(recorded_name(kernel), "simmesh::copy_in");
  EXPECT_EQ(schema_of(kernel), "simmesh::copy_in(Tensor input0) -> Tensor");
}

TEST(OpWords, WriteArgumentsAsJson) {
  auto words_of = [](const AttributeValue& value) {
    RecordedArgument argument = recorded_argument(value);
    return argument.type + " " + argument.json;
  };
  EXPECT_EQ(words_of(true), "Bool true");
  EXPECT_EQ(words_of(std::int64_t(-3)), "Int -3");
  EXPECT_EQ(words_of(0.5), "Double 0.5");
  EXPECT_EQ(words_of(DType::int64), "Int 4");
  EXPECT_EQ(words_of(Dims{1, 2}), "GenericList[Int,Int] [1,2]");
  EXPECT_EQ(words_of(Dims{}), "GenericList[] []");
  EXPECT_EQ(words_of(std::string("a\"")), "String \"a\\\"\"");
}

}  // namespace
}  // namespace simmesh::replay
