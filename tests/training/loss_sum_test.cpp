#include "training/loss_sum.h"

#include <gtest/gtest.h>

#include "core/ops/compute_mode.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "core/tensor/scalar_value.h"

namespace simmesh {
namespace {

// The terms are summed as one, so that no cut of the batch into micro-batches changes a bit.
TEST(LossSum, OfExactTermsDoesNotDependOnTheCut) {
  const Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  Tensor terms = formula({9}, {.rule = Rule::wide, .seed = 3});
  TrainingTask task;
  task.terms = 9;
  auto loss_of = [&](const std::vector<std::int64_t>& cut) {
    LossSum sum;
    std::int64_t start = 0;
    for (std::int64_t length : cut) {
      Tensor part = terms.narrow({0, start, length});
      sum.add(part, simmesh::sum(part));
      start += length;
    }
    return scalar_value(sum.value(task, {}));
  };
  EXPECT_EQ(loss_of({9}), loss_of({1, 5, 3}));
  EXPECT_EQ(loss_of({9}), loss_of({3, 3, 3}));
}

TEST(LossTerms, AreThoseOfTheirKind) {
  Tensor x = full({2, 2}, DType::float32, 3.0), y = full({2, 2}, DType::float32, 1.0);
  EXPECT_EQ(scalar_value(sum(loss_terms(LossKind::mse, x, y))), 16.0);
  EXPECT_EQ(scalar_value(sum(loss_terms(LossKind::dot, x, y))), 12.0);
}

}  // namespace
}  // namespace simmesh
