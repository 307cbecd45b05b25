#include "sharding/rules/rule_difference.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

Tensor row_of(std::initializer_list<double> values) {
  return tensor_of<double>({std::int64_t(values.size())}, values);
}

std::string problem_of(std::vector<Tensor> pieces, const Placement& placement,
                       const Tensor& whole) {
  Placements placements = {placement};
  Dims mesh = {std::int64_t(pieces.size())};
  auto found = compare_pieces("output 0", whole, pieces, placements, mesh);
  return found ? found->what + found->index + ": " + found->expected + found->problem + " " +
                     found->got
               : "";
}

// If this fails, a counter-example names another element than the first that differs.
TEST(RuleDifference, NamesTheFirstElementThatDiffers) {
  EXPECT_EQ(problem_of({row_of({1}), row_of({2})}, Shard(0), row_of({1, 2})), "");
  EXPECT_EQ(problem_of({row_of({1}), row_of({2})}, Shard(0), row_of({1, 3})),
            "output 0[1]: 3.0 2.0");
  EXPECT_EQ(problem_of({row_of({1}), row_of({2})}, Partial(), row_of({0.1})),
            "output 0[0]: 0.1 3.0");
  Tensor three = tensor_of<std::int64_t>({1, 1}, {3}), four = tensor_of<std::int64_t>({1, 1}, {4});
  EXPECT_EQ(problem_of({three, three}, Replicate(), four), "output 0[0, 0]: 4 3");
}

// If this fails, pieces that don't fit together are put together.
TEST(RuleDifference, SaysWhyPiecesDontFit) {
  EXPECT_EQ(problem_of({row_of({1}), row_of({2})}, Replicate(), row_of({1})),
            "output 0: ranks 0 and 1 of a mesh dim differ ");
  EXPECT_EQ(problem_of({row_of({1}), row_of({2, 3})}, Shard(0), row_of({1, 2, 3})),
            "output 0: the pieces have the shapes [[1], [2]] ");
  EXPECT_EQ(problem_of({row_of({1}), row_of({2, 3})}, Partial(), row_of({1})),
            "output 0: the terms have the shapes [[1], [2]] ");
  EXPECT_EQ(problem_of({row_of({1}), row_of({2})}, Shard(1), row_of({1})),
            "output 0: the result has no dim 1 ");
  EXPECT_EQ(problem_of({row_of({1}), row_of({2})}, Shard(0), row_of({1})),
            "output 0: expected the shape [1], got [2] ");
  EXPECT_EQ(problem_of({tensor_of<float>({1}, {1}), tensor_of<float>({1}, {1})}, Replicate(),
                       row_of({1})),
            "output 0: expected the dtype float64, got float32 ");
}

}  // namespace
}  // namespace simmesh
