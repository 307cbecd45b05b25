#include "sharding/validate/known_results.h"

#include <gtest/gtest.h>

#include "core/ops/compute_mode.h"
#include "core/ops/registry/registry.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

const Op& doubled() {
  static const Op op = {
      .name = "doubled",
      .shape = [](gsl::span<const TensorType> inputs,
                  const Attributes&) { return TensorTypes{inputs[0]}; },
      .kernel =
          [](gsl::span<const Tensor> inputs, const Attributes&, gsl::span<Tensor> outputs) {
            for (std::int64_t i = 0; i < inputs[0].numel(); ++i)
              outputs[0].mutable_values<float>()[i] = 2 * inputs[0].values<float>()[i];
          }};
  return op;
}

constexpr Attribute<std::int64_t> factor{"factor"};

// If this fails, ranks with equal pieces compute the same again, or ranks with others don't
// compute.
TEST(KnownResults, EqualPiecesAreComputedOnce) {
  KnownResults known;
  Tensor x = known.shared(formula({3, 2}, {.seed = 1}));
  Tensor same = known.shared(formula({3, 2}, {.seed = 1}));
  Tensor other = known.shared(formula({3, 2}, {.seed = 2}));
  Tensor reshaped = known.shared(formula({2, 3}, {.seed = 1}));
  for (const Tensor& input : {x, same, other, reshaped}) {
    const Tensor& output = known.call(doubled(), {&input, 1}, {})[0];
    EXPECT_EQ(output.shape(), input.shape());
    EXPECT_EQ(output.values<float>()[5], 2 * input.values<float>()[5]);
  }
  EXPECT_EQ(known.computed_count(), 3u);
}

// If this fails, an op gets the result of other arguments, or one rounded where sums are kept.
TEST(KnownResults, ArgumentsAndUnroundedSumsAreApart) {
  KnownResults known;
  Tensor x = known.shared(formula({2}, {}));
  known.call(doubled(), {&x, 1}, {factor = 1});
  known.call(doubled(), {&x, 1}, {factor = 2});
  known.call(doubled(), {&x, 1}, {factor = 2});
  EXPECT_EQ(known.computed_count(), 2u);
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  KeepUnrounded sums;
  known.call(doubled(), {&x, 1}, {factor = 2});
  EXPECT_EQ(known.computed_count(), 3u);
}

// If this fails, two views of one storage are taken for each other.
TEST(KnownResults, RowsOfATensorAreApart) {
  KnownResults known;
  Tensor x = formula({4, 2}, {.seed = 3});
  Tensor first = known.shared(x.narrow({.dim = 0, .start = 0, .length = 2}));
  Tensor last = known.shared(x.narrow({.dim = 0, .start = 2, .length = 2}));
  EXPECT_FALSE(same_bits(known.call(doubled(), {&first, 1}, {})[0],
                         known.call(doubled(), {&last, 1}, {})[0]));
}

// If this fails, operands that other combinations share are reduced anew, or one reduction gets the
// result of another.
TEST(KnownResults, OperandsAreReducedOnce) {
  KnownResults known;
  Tensor pieces[] = {tensor_of<float>({2}, {1, 5}), tensor_of<float>({2}, {3, 2})};
  Tensor swapped[] = {pieces[1], pieces[0]};
  EXPECT_TRUE(same_bits(known.reduced(pieces, ReduceOp::sum), tensor_of<float>({2}, {4, 7})));
  EXPECT_TRUE(same_bits(known.reduced(pieces, ReduceOp::max), tensor_of<float>({2}, {3, 5})));
  const Tensor& first = known.reduced(pieces, ReduceOp::sum);
  EXPECT_EQ(&known.reduced(pieces, ReduceOp::sum), &first);
  EXPECT_EQ(known.reduced_count(), 2u);
  known.reduced(swapped, ReduceOp::sum);
  EXPECT_EQ(known.reduced_count(), 3u);
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  KeepUnrounded sums;
  known.reduced(pieces, ReduceOp::sum);
  EXPECT_EQ(known.reduced_count(), 4u);
}

TEST(KnownResults, RaisesWhatTheOpRaises) {
  KnownResults known;
  Tensor x = formula({2, 3}, {}), inputs[] = {x, x};
  testing::expect_error([&] { known.call(*find_op("mm"), inputs, {}); }, ErrorKind::runtime_error,
                        "");
}

}  // namespace
}  // namespace simmesh
