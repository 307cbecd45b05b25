#include "core/ops/shapes/aliases.h"

#include <gtest/gtest.h>

#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(Aliases, AreTheSameElements) {
  Tensor x = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  for (auto* view : {alias, positive, view_as_complex, view_as_real})
    EXPECT_EQ(view(x).storage(), x.storage());
  expect_error([] { positive(zeros({2}, DType::boolean)); }, ErrorKind::runtime_error);
  expect_error([] { view_as_complex(zeros({3}, DType::float32)); }, ErrorKind::runtime_error);
}

TEST(Aliases, BytesOfAnotherDType) {
  Tensor x = tensor_of<float>({2, 2}, {1, 2, 0, -1});
  EXPECT_EQ(to_string(view_as_dtype(x, DType::int32)),
            "int32[2, 2] {1065353216, 1073741824, 0, -1082130432}");
  EXPECT_EQ(to_string(view_as_dtype(x, DType::int64).shape()), "[2, 1]");
  EXPECT_EQ(to_string(view_as_dtype(x, DType::uint8).shape()), "[2, 8]");
  Tensor odd = x.narrow({.dim = 1, .start = 0, .length = 1});
  expect_error([&] { view_as_dtype(odd, DType::int64); }, ErrorKind::runtime_error);
}

TEST(Aliases, Gradients) {
  using Inputs = std::vector<Tensor>;
  check_gradients({
      {"alias", [](const Inputs& x) { return alias(x[0]); }, {leaf({2, 2}, 1)}},
      {"positive", [](const Inputs& x) { return positive(x[0]); }, {leaf({2, 2}, 2)}},
      {"complex", [](const Inputs& x) { return view_as_complex(x[0]); }, {leaf({2, 2}, 3)}},
  });
}

}  // namespace
}  // namespace simmesh
