#include "verify/pytorch/ops/complex_pairs.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

// A name under which a complex tensor reaches a function of real ones would give wrong answers.
TEST(ComplexPairs, GiveFunctionsOfComplexTensorsNamesOfTheirOwn) {
  EXPECT_EQ(function_on("torch.add", {false, false}), "torch.add");
  EXPECT_EQ(function_on("torch.add", {true, true}), of_complex("torch.add"));
  EXPECT_EQ(function_on("torch.ops.aten.abs.default", {true}), of_complex("aten.abs.default"));
  std::string mixed = function_on("torch.add", {true, false});
  EXPECT_NE(mixed, of_complex("torch.add"));
  EXPECT_TRUE(is_of_complex(mixed));
  EXPECT_FALSE(is_of_complex("torch.complex"));
  EXPECT_EQ(name_without_complex(mixed), "torch.add");
  EXPECT_EQ(name_without_complex("aten.add.Tensor"), "aten.add.Tensor");
  EXPECT_EQ(of_complex("torch.abs Tensor.abs"),
            of_complex("torch.abs") + " " + of_complex("Tensor.abs"));
}

TEST(ComplexPairs, HaveElementsOfTheRealDtype) {
  EXPECT_EQ(real_dtype("complex64"), DType::float32);
  EXPECT_EQ(real_dtype("complex128"), DType::float64);
  EXPECT_EQ(real_dtype("int64"), DType::int64);
  EXPECT_FALSE(is_complex_dtype("float32"));
  testing::expect_error([] { real_dtype("complex32"); }, ErrorKind::value_error, "complex32");
}

}  // namespace
}  // namespace simmesh
