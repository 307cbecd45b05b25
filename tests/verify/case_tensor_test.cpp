#include "verify/case_tensor.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(CaseTensor, ReadsFormulas) {
  RecordedCase recorded = RecordedCase::parse(
      R"({"kind":"k","id":"i",)"
      R"("a":{"shape":[4,2],"dtype":"float16","rule":"unit","seed":18446744073709551615,)"
      R"("scale":0.5},)"
      R"("b":{"shape":[],"dtype":"int64","rule":"index","seed":3,"below":97},)"
      R"("c":{"shape":[0],"dtype":"bool"}})",
      {});
  CaseTensor a = read_tensor(recorded["a"]), b = read_tensor(recorded["b"]);
  EXPECT_EQ(a.shape, (Shape{4, 2}));
  EXPECT_EQ(a.data.dtype, DType::float16);
  EXPECT_EQ(a.data.rule, Rule::unit);
  EXPECT_EQ(a.data.seed, 18446744073709551615u);
  EXPECT_EQ(a.data.scale, 0.5);
  EXPECT_EQ(b.data.below, 97u);
  EXPECT_EQ(read_tensor(recorded["c"]).data.dtype, DType::boolean);
}

// Sizes are bounded before anything is allocated for them.
TEST(CaseTensor, BoundsTheElements) {
  RecordedCase recorded = RecordedCase::parse(
      R"({"kind":"k","id":"i","t":{"shape":[67108864]},"u":{"shape":[4],"dtype":"float8"}})", {});
  CaseField shape = recorded["t"]["shape"];
  require_elements(shape, shape.shape(), 1);
  expect_error([&] { require_elements(shape, shape.shape(), 2); }, ErrorKind::value_error,
               "field 't.shape': expected at most 67108864 elements in all ranks together");
  expect_error([&] { require_elements(shape, shape.shape(), std::int64_t{1} << 60); },
               ErrorKind::value_error, "at most 67108864 elements");
  expect_error([&] { read_tensor(recorded["u"]); }, ErrorKind::value_error, "got 'float8'");
}

}  // namespace
}  // namespace simmesh
