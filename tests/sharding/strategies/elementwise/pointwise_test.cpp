#include "core/ops/elementwise/pointwise.h"

#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// A rank computes with a part of a partial tensor, or a shard with its neighbour's elements.
TEST(PointwiseStrategies, OfOneTensorGiveWholeBits) {
  expect_of_one("neg", neg);
  expect_of_one("abs", abs);
  expect_of_one("sign", sign);
  expect_of_one("sgn", sgn);
  expect_of_one("square", square);
  expect_of_one("reciprocal", reciprocal);
}

// A number is added once a rank.
TEST(PointwiseStrategies, OfATensorAndANumberGiveWholeBits) {
  expect_of_one("add", [](const Tensor& x) { return add(x, 3); });
  expect_of_one("sub", [](const Tensor& x) { return sub(x, 3, 2); });
  expect_of_one("rsub", [](const Tensor& x) { return rsub(x, 3); });
  expect_of_one("mul", [](const Tensor& x) { return mul(x, -3); });
  expect_of_one("div", [](const Tensor& x) { return div(x, -4); });
  expect_of_one("div floor", [](const Tensor& x) { return div(x, 3, RoundingMode::floor); });
  expect_of_one("remainder", [](const Tensor& x) { return remainder(x, 3); });
  expect_of_one("fmod", [](const Tensor& x) { return fmod(x, 3); });
  expect_of_one("pow", [](const Tensor& x) { return pow(x, 3); });
}

const Worlds grids = {.meshes = {{2, 2}}, .schedules = {"seeded:2"}};
const Placements few_kinds =
    shards_and(1, {Partial(ReduceOp::sum), Partial(ReduceOp::avg), Partial(ReduceOp::max)});

// A rule of two partial tensors forgets that a replicated one counts once a rank.
TEST(PointwiseStrategies, OfTwoTensorsGiveWholeBits) {
  auto add_two = [](const Tensor& a, const Tensor& b) { return add(a, b, -2); };
  auto sub_two = [](const Tensor& a, const Tensor& b) { return sub(a, b); };
  auto rsub_two = [](const Tensor& a, const Tensor& b) { return rsub(a, b); };
  for (auto [name, f] :
       {std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&)>{"add", add_two},
        {"sub", sub_two},
        {"rsub", rsub_two},
        {"mul", mul}}) {
    expect_of_two(name, f);
    Input input{.shape = {5, 2}, .alphabet = few_kinds};
    auto function = [f = f](TensorSpan x) { return std::vector<Tensor>{f(x[0], x[1])}; };
    expect_whole_bits({.name = name, .inputs = {input, input}, .function = function}, grids);
  }
}

// A divisor is taken apart.
TEST(PointwiseStrategies, QuotientsGiveWholeBits) {
  auto by_power = [](const Tensor& a, const Tensor& b) { return div(a, pow(Number(2), b)); };
  auto floored = [](const Tensor& a, const Tensor& b) {
    return div(a, add(mul(b, b), 1), RoundingMode::floor);
  };
  auto rest = [](const Tensor& a, const Tensor& b) { return remainder(a, add(mul(b, b), 1)); };
  auto modulo = [](const Tensor& a, const Tensor& b) { return fmod(a, add(mul(b, b), 1)); };
  auto raised = [](const Tensor& a, const Tensor& b) { return pow(abs(a), sign(b)); };
  for (auto [name, f] :
       {std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&)>{"div", by_power},
        {"div floor", floored},
        {"remainder", rest},
        {"fmod", modulo},
        {"pow", raised}}) {
    expect_of_two(name, f, false);
  }
}

// Broadcast dims are cut, or their gradient isn't added up over the ranks that hold the others.
TEST(PointwiseStrategies, BroadcastsGiveWholeBits) {
  for (const Shape& second : {Shape{3}, Shape{5, 1}, Shape{1, 3}, Shape{}}) {
    Placements alphabet =
        shards_and(std::int64_t(second.size()), {Partial(ReduceOp::sum), Partial(ReduceOp::avg)});
    Call call{
        .name = "broadcast",
        .inputs = {{.shape = {5, 3}, .alphabet = all_kinds(2)},
                   {.shape = second, .alphabet = alphabet}},
        .function = [](TensorSpan x) { return std::vector<Tensor>{add(mul(x[0], x[1]), x[1])}; },
        .has_gradient = false};
    expect_whole_bits(call, halves);
  }
}

// Ranks without elements fail, or give a piece of another shape.
TEST(PointwiseStrategies, EmptyPiecesAndTensorsGiveWholeBits) {
  for (const Shape& shape : {Shape{1, 3}, Shape{2, 1}, Shape{0, 3}}) {
    Call call{.name = "empty",
              .inputs = {{.shape = shape, .alphabet = all_kinds(2)},
                         {.shape = shape, .alphabet = all_kinds(2)}},
              .function = [](TensorSpan x) { return std::vector<Tensor>{sub(x[0], x[1])}; }};
    expect_whole_bits(call, halves);
  }
}

// Integers are cut into equal parts, which drops the remainder, or become floating.
TEST(PointwiseStrategies, IntegersStayWhole) {
  Placements partial =
      shards_and(1, {Partial(ReduceOp::sum), Partial(ReduceOp::max), Partial(ReduceOp::min)});
  for (DType dtype : {DType::int64, DType::int32}) {
    Formula data{.rule = Rule::small, .dtype = dtype};
    auto both = [](TensorSpan x) { return std::vector<Tensor>{add(mul(x[0], 3), x[1])}; };
    expect_whole_bits({.name = "integers",
                       .inputs = {{.shape = {5}, .alphabet = partial, .data = data},
                                  {.shape = {5}, .alphabet = partial, .data = data}},
                       .function = both});
  }
}

// Integers beside a partial floating sum are cut into integer parts.
TEST(PointwiseStrategies, IntegersBesideAPartialSumBecomeFloating) {
  Formula integers{.rule = Rule::small, .dtype = DType::int64};
  for (DType dtype : {DType::float32, DType::float64}) {
    Formula floating{.rule = Rule::small, .dtype = dtype};
    expect_whole_bits({.name = "mixed",
                       .inputs = {{.shape = {5}, .alphabet = all_kinds(1), .data = floating},
                                  {.shape = {5}, .alphabet = shards_and(1), .data = integers}},
                       .function =
                           [](TensorSpan x) {
                             return std::vector<Tensor>{add(x[0], x[1]), sub(x[1], x[0])};
                           }},
                      halves);
  }
}

// In exact arithmetic a partial sum is rounded in parts.
TEST(PointwiseStrategies, ExactSumsGiveTheBitsOfOneDevice) {
  Formula wide{.rule = Rule::wide};
  auto chain = [](TensorSpan x) { return std::vector<Tensor>{div(mul(sub(x[0], x[1]), x[1]), 3)}; };
  Placements alphabet = shards_and(2);
  expect_whole_bits({.name = "exact",
                     .inputs = {{.shape = {5, 3}, .alphabet = alphabet, .data = wide},
                                {.shape = {5, 3}, .alphabet = alphabet, .data = wide}},
                     .function = chain},
                    {.arithmetic = Arithmetic::exact()});
}

}  // namespace
}  // namespace simmesh
