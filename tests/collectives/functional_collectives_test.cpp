#include "collectives/functional_collectives.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "collectives/comm_debug_mode.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/inplace.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::error_of;
using testing::kind_and_message;

using Values = std::vector<double>;

const double not_a_number = std::numeric_limits<double>::quiet_NaN();

Tensor vector_of(const Values& values, DType dtype) {
  Tensor result = zeros({std::int64_t(values.size())}, DType::float64);
  std::copy(values.begin(), values.end(), result.mutable_values<double>().begin());
  return to(result, dtype);
}

// The gradient that each of three members gets, or its refusal.
std::vector<std::string> gradients_of(ReduceWith reduce, DType dtype, Release release) {
  const Values operands[] = {
      {1, 2, 4, not_a_number, -0.0}, {1, 3, not_a_number, 1, 0}, {0, 3, 4, not_a_number, 0}};
  std::vector<std::string> found(3);
  World world({.ranks = 3, .release = release});
  Outcome outcome = world.run([&](Rank& rank) {
    Tensor x = vector_of(operands[rank.id()], dtype);
    set_requires_grad(x);
    Tensor y = funcol::all_reduce(x, reduce, ProcessGroup::world());
    double times = double(rank.id()) + 1;
    Tensor given = vector_of({times, 10 * times, 100 * times, 1000 * times, 7 * times}, dtype);
    found[rank.id()] = kind_and_message([&] { backward(y, {.gradients = {given}}); });
    if (!found[rank.id()].empty()) return;
    Tensor gradient = to(grad_of(x), DType::float32);
    for (float value : gradient.values<float>()) found[rank.id()] += fmt::format("{} ", value);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return found;
}

struct Row {
  ReduceWith reduce;
  DType dtype;
  std::vector<std::string> before, after;
};

std::vector<std::string> of_all(const std::string& text) { return {text, text, text}; }

std::string only_sum(const char* op) {
  return fmt::format("RuntimeError: all_reduce backward only supports 'sum' reduction, got '{}'",
                     op);
}

// The rows are what three processes of PyTorch 2.13.0 and 2.15.0 get with gloo, but for NaN, which
// gloo's extrema drop and PyTorch's simulation keeps, and premul_sum, which gloo doesn't have.
TEST(ReleaseChanges, AllReduceGradients) {
  const auto f32 = DType::float32, bf16 = DType::bfloat16;
  const std::string sum = "6 60 600 6000 42 ";
  const std::vector<std::string> max = {"3 0 0 3000 14 ", "3 30 600 0 14 ", "0 30 0 3000 14 "};
  const std::vector<Row> rows = {
      {ReduceOp::sum, f32, of_all(sum), of_all(sum)},
      {ReduceOp::avg, f32, of_all(only_sum("avg")), of_all("2 20 200 2000 14 ")},
      {ReduceOp::avg, bf16, of_all(only_sum("avg")), of_all("2 20 200 2008 14 ")},
      {ReduceWith::premul_sum(0.5), f32, of_all(only_sum("premul_sum")),
       of_all("3 30 300 3000 21 ")},
      {ReduceOp::max, f32, of_all(only_sum("max")), max},
      {ReduceOp::max,
       bf16,
       of_all(only_sum("max")),
       {"3 0 0 3008 14 ", "3 30 600 0 14 ", "0 30 0 3008 14 "}},
      {ReduceOp::min,
       f32,
       of_all(only_sum("min")),
       {"0 60 0 3000 14 ", "0 0 600 0 14 ", "6 0 0 3000 14 "}},
      {ReduceOp::product, f32, of_all(only_sum("product")),
       of_all("RuntimeError: all_reduce backward only supports `sum`, `premul_sum`, `avg`, `max`, "
              "`min` reductions, got 'product'")},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} of {}", to_string(row.reduce.op), to_string(row.dtype)));
    EXPECT_EQ(gradients_of(row.reduce, row.dtype, Release::v2_13), row.before);
    EXPECT_EQ(gradients_of(row.reduce, row.dtype, Release::v2_15), row.after);
  }
}

// Returns the shape of a gather by three members, or its refusal.
std::string gathered(const Shape& shape, std::int64_t dim, Release release) {
  std::string found;
  World world({.ranks = 3, .release = release});
  Outcome outcome = world.run([&](Rank& rank) {
    Tensor y;
    auto refusal = error_of([&] {
      y = funcol::all_gather_tensor(zeros(shape, DType::float32), dim, ProcessGroup::world());
    });
    if (rank.id() == 0) found = refusal ? to_string(refusal->kind()) : to_string(y.shape());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return found;
}

// The rows have the results of PyTorch's simulation of three ranks.
TEST(ReleaseChanges, NegativeGatherDim) {
  struct {
    Shape shape;
    std::int64_t dim;
    const char *before, *after;
  } rows[] = {{{2, 3}, -1, "[2, 9]", "[2, 9]"},        {{2, 3}, -2, "[6, 3]", "[6, 3]"},
              {{1}, -1, "RuntimeError", "[3]"},        {{1, 3}, -2, "RuntimeError", "[3, 3]"},
              {{1, 3}, -1, "RuntimeError", "[1, 9]"},  {{1, 2, 3}, -2, "[1, 6, 3]", "[1, 6, 3]"},
              {{2, 3}, -3, "IndexError", "IndexError"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(fmt::format("{} along {}", to_string(row.shape), row.dim));
    EXPECT_EQ(gathered(row.shape, row.dim, Release::v2_13), row.before);
    EXPECT_EQ(gathered(row.shape, row.dim, Release::v2_15), row.after);
  }
}

std::string failure_of_unequal_splits(Release release) {
  World world({.ranks = 2, .release = release});
  Outcome outcome = world.run([](Rank& rank) {
    Splits splits = rank.id() == 0 ? Splits{.input = {1, 2}, .output = {1, 1}}
                                   : Splits{.input = {1, 2}, .output = {1, 2}};
    all_to_all_single(zeros({3, 4}, DType::float32), splits, ProcessGroup::world());
  });
  return kind_and_message([&] { outcome.rethrow(); });
}

TEST(ReleaseChanges, AllToAllMismatchClass) {
  const std::string message =
      ": collective #0 of group world [0, 1]: member 0 sends 2 rows to member 1, which expects 1: "
      "the input split has 8 elements, but the corresponding output split has 4 elements: rank 0 ";
  EXPECT_THAT(failure_of_unequal_splits(Release::v2_13),
              ::testing::StartsWith("RuntimeError" + message));
  EXPECT_THAT(failure_of_unequal_splits(Release::v2_15),
              ::testing::StartsWith("ValueError" + message));
}

// A member's loss counts with its own weights; the gradient holds those of all members.
TEST(FunctionalCollectives, GatherAndScatterBack) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    auto weight = float(rank.id() + 1);
    Tensor x = full({2}, DType::float32, 1);
    set_requires_grad(x);
    Tensor whole = funcol::all_gather_tensor(x, 0, world);
    backward(whole, {.gradients = {tensor_of<float>(
                         {6}, {0, weight, 2 * weight, 3 * weight, 4 * weight, 5 * weight})}});
    auto first = float(2 * rank.id());
    rank.expect_same_bits(grad_of(x), tensor_of<float>({2}, {6 * first, 6 * (first + 1)}));

    Tensor z = full({3, 1}, DType::float32, 1);
    set_requires_grad(z);
    Tensor part = funcol::reduce_scatter_tensor(z, ReduceOp::sum, -2, world);
    CommDebugMode mode;
    backward(part, {.gradients = {tensor_of<float>({1, 1}, {weight})}});
    EXPECT_EQ(to_string(mode), "all_gather: 1 calls, 4 bytes\n");
    rank.expect_same_bits(grad_of(z), tensor_of<float>({3, 1}, {1, 2, 3}));
    rank.record(grad_of(x));
  });
}

TEST(FunctionalCollectives, RowsComeBackByTheirSplits) {
  run_every_schedule(2, [](Rank& rank) {
    bool is_first = rank.id() == 0;
    Splits splits = is_first ? Splits{.input = {1, 2}, .output = {1, 1}}
                             : Splits{.input = {1, 0}, .output = {2, 0}};
    Tensor x = full({is_first ? 3 : 1}, DType::float32, 1);
    set_requires_grad(x);
    Tensor y = funcol::all_to_all_single(x, splits, ProcessGroup::world());
    Tensor weights = is_first ? tensor_of<float>({2}, {1, 2}) : tensor_of<float>({2}, {3, 4});
    backward(y, {.gradients = {weights}});
    rank.expect_same_bits(grad_of(x),
                          is_first ? tensor_of<float>({3}, {1, 3, 4}) : tensor_of<float>({1}, {2}));
    rank.record(grad_of(x));
  });
}

// The gradient of an extremum costs two all_reduces: of the gradients, and of the float32 counts.
TEST(FunctionalCollectives, AnExtremumCountsItsHolders) {
  run_every_schedule(2, [](Rank& rank) {
    Tensor x = full({4}, DType::bfloat16, 1);
    set_requires_grad(x);
    Tensor y = funcol::all_reduce(x, ReduceOp::max, ProcessGroup::world());
    CommDebugMode mode;
    backward(y, {.gradients = {full({4}, DType::bfloat16, 1)}});
    EXPECT_EQ(to_string(mode), "all_reduce: 2 calls, 24 bytes\n");
    rank.record(grad_of(x));
  });
}

TEST(FunctionalCollectives, RefusesAnExtremumThatWasWrittenOver) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    Tensor x = full({2}, DType::float32, 1);
    set_requires_grad(x);
    Tensor y = funcol::all_reduce(x, ReduceOp::max, ProcessGroup::world());
    Tensor data = x.detach();
    mul_(data, 2);
    backward(y, {.gradients = {full({2}, DType::float32, 1)}});
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.failure->message, ::testing::HasSubstr("modified by an inplace operation"));
}

TEST(FunctionalCollectives, OnlyASumScattersWithAGradient) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    Tensor x = full({2}, DType::float32, 1);
    set_requires_grad(x);
    Tensor y = funcol::reduce_scatter_tensor(x, ReduceOp::avg, 0, ProcessGroup::world());
    backward(y, {.gradients = {full({1}, DType::float32, 1)}});
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.failure->message,
              ::testing::HasSubstr("backward only supports 'sum' reduction, got 'avg'"));
}

}  // namespace
}  // namespace simmesh
