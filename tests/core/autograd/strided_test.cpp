#include "core/autograd/strided.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/sums.h"

namespace simmesh {
namespace {

const Geometry base_2x3 = {{2, 3}, {3, 1}, 0};
const Geometry second_column = {{2}, {3}, 1};

// Elements must be found by their place in the storage, whatever the strides.
TEST(Strided, PartsAreFoundByTheirPlaces) {
  Tensor g = tensor_of<double>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(
      same_bits(gather_strided(g, base_2x3, second_column), tensor_of<double>({2}, {2, 5})));
  Geometry transposed = {{3, 2}, {1, 3}, 0};
  EXPECT_TRUE(same_bits(gather_strided(g, base_2x3, transposed), g.transpose(0, 1).contiguous()));
  Tensor put = put_strided(g, tensor_of<double>({2}, {8, 9}), base_2x3, second_column);
  EXPECT_TRUE(same_bits(put, tensor_of<double>({2, 3}, {1, 8, 3, 4, 9, 6})));
}

// The gradients of the two ops, which second derivatives read.
TEST(Strided, OpsAreDifferentiable) {
  Tensor g = tensor_of<double>({2, 3}, {1, 2, 3, 4, 5, 6}), e = tensor_of<double>({2}, {8, 9});
  set_requires_grad(g);
  set_requires_grad(e);
  Tensor put = put_strided(g, e, base_2x3, second_column);
  backward(sum(mul(put, put)));
  EXPECT_TRUE(same_bits(grad_of(g), tensor_of<double>({2, 3}, {2, 0, 6, 8, 0, 12})));
  EXPECT_TRUE(same_bits(grad_of(e), tensor_of<double>({2}, {16, 18})));
  Tensor part = gather_strided(g, base_2x3, second_column);
  Tensor again = grad({sum(mul(part, part))}, {g}).front();
  EXPECT_TRUE(same_bits(again, tensor_of<double>({2, 3}, {0, 4, 0, 0, 10, 0})));
}

// Elements that a view repeats, by a stride of 0 or by windows that overlap, add up.
TEST(Strided, RepeatedElementsAddUp) {
  Tensor base = tensor_of<double>({3}, {1, 2, 3});
  set_requires_grad(base);
  Tensor plain = base.detach();
  for (const auto& [view, expected] :
       {std::pair{Tensor(plain.storage(), DType::float64, Shape{2, 3}, Strides{0, 1}, 0),
                  tensor_of<double>({3}, {2, 2, 2})},
        std::pair{Tensor(plain.storage(), DType::float64, Shape{2, 2}, Strides{1, 1}, 0),
                  tensor_of<double>({3}, {1, 2, 1})}}) {
    Tensor tracked = call_one(strided_view_op(), {base},
                              strided_attributes(geometry_of(base), geometry_of(view)));
    EXPECT_TRUE(same_bits(grad({sum(tracked)}, {base}).front(), expected));
  }
}

}  // namespace
}  // namespace simmesh
