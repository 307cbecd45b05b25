#include "core/ops/shapes/views.h"

#include <gtest/gtest.h>

#include "core/autograd/gradcheck.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/complex.h"
#include "core/ops/functions/einsum.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/convolution.h"
#include "core/ops/neural/pooling.h"
#include "core/ops/reductions/sorting.h"
#include "core/ops/shapes/joining.h"
#include "core/tensor/formula.h"

// First and second gradients of the ops that view, multiply, join, index, sort, convolve and pool,
// against differences.
namespace simmesh {
namespace {

using Given = const std::vector<Tensor>&;
using Outputs = std::vector<Tensor>;

struct StructureGradientCase {
  std::string name;
  std::vector<Shape> shapes;
  std::function<Outputs(Given)> function;
};

Tensor places(std::initializer_list<std::int64_t> shape,
              std::initializer_list<std::int64_t> values) {
  return tensor_of<std::int64_t>(shape, values);
}

const std::vector<StructureGradientCase> view_cases = {
    {"view",
     {{2, 3}},
     [](Given x) -> Outputs {
       return {view(x[0], {3, 2})};
     }},
    {"reshape", {{2, 3}}, [](Given x) -> Outputs { return {reshape(t(x[0]), {6})}; }},
    {"permute",
     {{2, 3, 2}},
     [](Given x) -> Outputs {
       return {permute(x[0], {2, 0, 1})};
     }},
    {"movedim", {{2, 3, 2}}, [](Given x) -> Outputs { return {movedim(x[0], 0, 2)}; }},
    {"squeeze", {{2, 1, 1}}, [](Given x) -> Outputs { return {squeeze(x[0])}; }},
    {"unsqueeze", {{2}}, [](Given x) -> Outputs { return {unsqueeze(x[0], -1)}; }},
    {"expand",
     {{2, 1}},
     [](Given x) -> Outputs {
       return {expand(x[0], {3, 2, 2})};
     }},
    {"slice", {{5, 2}}, [](Given x) -> Outputs { return {slice(x[0], {.start = 1, .step = 2})}; }},
    {"select", {{2, 3}}, [](Given x) -> Outputs { return {select(x[0], 1, -1)}; }},
    {"diagonal", {{2, 3, 2}}, [](Given x) -> Outputs { return {diagonal(x[0], {.offset = 1})}; }},
    {"split", {{5}}, [](Given x) -> Outputs { return split(x[0], 2); }},
    {"one part of a split", {{5}}, [](Given x) -> Outputs { return {split(x[0], 2)[1]}; }},
    {"unbind", {{2, 3}}, [](Given x) -> Outputs { return unbind(x[0], 1); }},
    {"clone", {{2}}, [](Given x) -> Outputs { return {clone(x[0])}; }},
};

const std::vector<StructureGradientCase> product_cases = {
    {"mm", {{2, 3}, {3, 2}}, [](Given x) -> Outputs { return {mm(x[0], x[1])}; }},
    {"bmm", {{2, 2, 3}, {2, 3, 1}}, [](Given x) -> Outputs { return {bmm(x[0], x[1])}; }},
    {"mv", {{2, 3}, {3}}, [](Given x) -> Outputs { return {mv(x[0], x[1])}; }},
    {"dot", {{3}, {3}}, [](Given x) -> Outputs { return {dot(x[0], x[1])}; }},
    {"outer", {{3}, {2}}, [](Given x) -> Outputs { return {outer(x[0], x[1])}; }},
    {"addmm",
     {{2}, {3, 2}, {2, 2}},
     [](Given x) -> Outputs { return {addmm(x[0], x[1], x[2], {.beta = 2, .alpha = -0.5})}; }},
    {"baddbmm",
     {{1, 2, 1}, {2, 2, 2}, {2, 2, 2}},
     [](Given x) -> Outputs { return {baddbmm(x[0], x[1], x[2], {.alpha = 3})}; }},
    {"linear",
     {{2, 2, 3}, {2, 3}, {2}},
     [](Given x) -> Outputs { return {linear(x[0], x[1], x[2])}; }},
    {"linear of a vector", {{3}, {2, 3}}, [](Given x) -> Outputs { return {linear(x[0], x[1])}; }},
    {"matmul", {{2, 1, 2, 3}, {2, 3, 2}}, [](Given x) -> Outputs { return {matmul(x[0], x[1])}; }},
    {"einsum",
     {{2, 3, 2}, {3, 2}},
     [](Given x) -> Outputs {
       return {einsum("bij,ij->bj", {x[0], x[1]})};
     }},
};

const std::vector<StructureGradientCase> joining_cases = {
    {"cat",
     {{2, 1}, {2, 2}},
     [](Given x) -> Outputs {
       return {cat({x[0], x[1]}, 1)};
     }},
    {"stack",
     {{2}, {2}},
     [](Given x) -> Outputs {
       return {stack({x[0], x[1]}, 1)};
     }},
    {"repeat",
     {{2, 1}},
     [](Given x) -> Outputs {
       return {repeat(x[0], {2, 1, 3})};
     }},
    {"repeat_interleave",
     {{2}},
     [](Given x) -> Outputs { return {repeat_interleave(x[0], 2, 0)}; }},
    {"pad",
     {{2, 3}},
     [](Given x) -> Outputs {
       return {pad(x[0], {-1, 2, 1, 0})};
     }},
    {"reflect",
     {{3}},
     [](Given x) -> Outputs {
       return {pad(x[0], {2, 1}, PadMode::reflect)};
     }},
    {"roll", {{3}}, [](Given x) -> Outputs { return {roll(x[0], {1}, {0})}; }},
    {"flip", {{2, 2}}, [](Given x) -> Outputs { return {flip(x[0], {1})}; }},
    {"tril", {{2, 2}}, [](Given x) -> Outputs { return {tril(x[0])}; }},
    {"triu", {{2, 2}}, [](Given x) -> Outputs { return {triu(x[0], 1)}; }},
};

const std::vector<StructureGradientCase> indexing_cases = {
    {"embedding",
     {{3, 2}},
     [](Given x) -> Outputs {
       return {embedding(x[0], places({3}, {2, 0, 2}))};
     }},
    {"gather",
     {{2, 3}},
     [](Given x) -> Outputs {
       return {gather(x[0], 1, places({2, 2}, {1, 1, 0, 2}))};
     }},
    {"take_along_dim",
     {{2, 3}},
     [](Given x) -> Outputs {
       return {take_along_dim(x[0], places({1, 1}, {2}), 1)};
     }},
    {"scatter",
     {{2, 3}, {2, 2}},
     [](Given x) -> Outputs {
       return {scatter(x[0], 1, places({2, 1}, {1, 2}), x[1])};
     }},
    {"scatter value",
     {{2, 3}},
     [](Given x) -> Outputs {
       return {scatter(x[0], 1, places({2, 1}, {1, 2}), 3.0)};
     }},
    {"scatter_add",
     {{2, 3}, {2, 2}},
     [](Given x) -> Outputs {
       return {scatter_add(x[0], 1, places({1, 2}, {1, 1}), x[1])};
     }},
    {"index_select",
     {{3, 2}},
     [](Given x) -> Outputs {
       return {index_select(x[0], 0, places({3}, {1, 1, 2}))};
     }},
    {"index_add",
     {{3, 2}, {2, 2}},
     [](Given x) -> Outputs {
       return {index_add(x[0], 0, places({2}, {1, 1}), x[1], 2)};
     }},
    {"index",
     {{2, 3, 2}},
     [](Given x) -> Outputs {
       return {index(x[0], {Tensor(), places({2, 1}, {0, -1})})};
     }},
    {"index_put",
     {{3, 2}, {2}},
     [](Given x) -> Outputs {
       return {index_put(x[0], {places({2}, {0, 2})}, x[1])};
     }},
    {"index_put accumulate",
     {{3, 2}, {2, 2}},
     [](Given x) -> Outputs {
       return {index_put(x[0], {places({2}, {1, 1})}, x[1], true)};
     }},
    {"sort", {{2, 3}}, [](Given x) -> Outputs { return {sort(x[0], 0).values}; }},
    {"topk", {{2, 3}}, [](Given x) -> Outputs { return {topk(x[0], {.k = 2}).values}; }},
    {"kthvalue", {{2, 3}}, [](Given x) -> Outputs { return {kthvalue(x[0], {.k = 2}).values}; }},
};

const std::vector<StructureGradientCase> window_cases = {
    {"conv2d",
     {{1, 2, 4, 3}, {2, 2, 2, 2}, {2}},
     [](Given x) -> Outputs { return {conv2d(x[0], x[1], x[2])}; }},
    {"conv2d with all options",
     {{2, 2, 6, 4}, {2, 1, 2, 3}},
     [](Given x) -> Outputs {
       return {conv2d(x[0], x[1], {},
                      {.stride = {2, 1}, .padding = {1, 2}, .dilation = {2, 1}, .groups = 2})};
     }},
    {"conv1d",
     {{1, 1, 5}, {2, 1, 2}},
     [](Given x) -> Outputs { return {conv1d(x[0], x[1], {}, {.stride = {3}, .padding = {1}})}; }},
    {"conv3d",
     {{1, 2, 3, 2, 4}, {2, 1, 2, 2, 1}, {2}},
     [](Given x) -> Outputs {
       return {conv3d(x[0], x[1], x[2], {.stride = {2, 1, 1}, .padding = {1, 0, 1}, .groups = 2})};
     }},
    {"max_pool2d",
     {{2, 3, 4}},
     [](Given x) -> Outputs {
       return {max_pool2d(x[0], {.kernel = {2, 2}, .stride = {1, 2}})};
     }},
    {"avg_pool2d",
     {{1, 3, 4}},
     [](Given x) -> Outputs {
       return {avg_pool2d(x[0], {.kernel = {2, 3}, .stride = {1, 1}, .padding = {1, 1}})};
     }},
    {"adaptive_avg_pool2d",
     {{1, 3, 4}},
     [](Given x) -> Outputs {
       return {adaptive_avg_pool2d(x[0], {2, 3})};
     }},
    {"complex_mul", {{2, 2}, {1, 2}}, [](Given x) -> Outputs { return {complex_mul(x[0], x[1])}; }},
    {"complex_abs", {{2, 2}}, [](Given x) -> Outputs { return {complex_abs(x[0])}; }},
    {"apply_rotary",
     {{2, 4}, {2, 2}},
     [](Given x) -> Outputs { return {apply_rotary(x[0], x[1])}; }},
    {"polar", {{2}, {2}}, [](Given x) -> Outputs { return {polar(x[0], x[1])}; }},
};

void expect_right(const std::vector<StructureGradientCase>& cases) {
  for (const StructureGradientCase& one : cases) {
    std::vector<Tensor> inputs;
    for (const Shape& shape : one.shapes) {
      inputs.push_back(formula(
          shape, {.rule = Rule::unit, .seed = 11 + inputs.size(), .dtype = DType::float64}));
      set_requires_grad(inputs.back());
    }
    EXPECT_EQ(gradcheck(one.function, inputs), "") << one.name;
  }
}

TEST(StructureGradients, OfViews) { expect_right(view_cases); }
TEST(StructureGradients, OfProducts) { expect_right(product_cases); }
TEST(StructureGradients, OfJoining) { expect_right(joining_cases); }
TEST(StructureGradients, OfIndexing) { expect_right(indexing_cases); }
TEST(StructureGradients, OfWindowsAndPairs) { expect_right(window_cases); }

}  // namespace
}  // namespace simmesh
