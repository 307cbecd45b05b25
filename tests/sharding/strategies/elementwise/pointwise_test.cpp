#include "core/ops/elementwise/pointwise.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using whole_tensor_oracle::Call;
using whole_tensor_oracle::expect_whole_bits;
using whole_tensor_oracle::Input;
using whole_tensor_oracle::shards_and;
using whole_tensor_oracle::Worlds;
using Tensors = gsl::span<const Tensor>;

const Placement sum_of = Partial(ReduceOp::sum), average_of = Partial(ReduceOp::avg),
                largest_of = Partial(ReduceOp::max), least_of = Partial(ReduceOp::min);
const Placements one_alphabet =
    shards_and(2, {sum_of, average_of, largest_of, least_of, StridedShard(0, 2)});

Call of_one(std::string name, Tensor (*f)(const Tensor&)) {
  return {.name = std::move(name),
          .inputs = {{.shape = {5, 3}, .alphabet = one_alphabet}},
          .function = [f](Tensors x) { return std::vector<Tensor>{f(x[0])}; }};
}

// A rank computes with a part of what is pending, or a shard with its neighbour's elements.
TEST(PointwiseStrategies, OfOneTensorGiveWholeBits) {
  expect_whole_bits(of_one("neg", neg));
  expect_whole_bits(of_one("abs", abs));
  expect_whole_bits(of_one("sign", sign));
  expect_whole_bits(of_one("sgn", sgn));
  expect_whole_bits(of_one("square", square));
  expect_whole_bits(of_one("reciprocal", reciprocal));
}

// A number is added once a rank.
TEST(PointwiseStrategies, OfATensorAndANumberGiveWholeBits) {
  expect_whole_bits(of_one("add", [](const Tensor& x) { return add(x, 3); }));
  expect_whole_bits(of_one("sub", [](const Tensor& x) { return sub(x, 3, 2); }));
  expect_whole_bits(of_one("rsub", [](const Tensor& x) { return rsub(x, 3); }));
  expect_whole_bits(of_one("mul", [](const Tensor& x) { return mul(x, -3); }));
  expect_whole_bits(of_one("div", [](const Tensor& x) { return div(x, -4); }));
  expect_whole_bits(
      of_one("div floor", [](const Tensor& x) { return div(x, 3, RoundingMode::floor); }));
  expect_whole_bits(of_one("remainder", [](const Tensor& x) { return remainder(x, 3); }));
  expect_whole_bits(of_one("fmod", [](const Tensor& x) { return fmod(x, 3); }));
  expect_whole_bits(of_one("pow", [](const Tensor& x) { return pow(x, 3); }));
}

// Where a part of a pending sum is a third, the sum of the parts is the whole up to rounding only.
const Worlds halves = {.meshes = {{2}, {4}}};
const Worlds grids = {.meshes = {{2, 2}}, .schedules = {"seeded:2"}};

Call of_two(std::string name, Tensor (*f)(const Tensor&, const Tensor&), const Placements& first,
            const Placements& second) {
  return {.name = std::move(name),
          .inputs = {{.shape = {5, 2}, .alphabet = first}, {.shape = {5, 2}, .alphabet = second}},
          .function = [f](Tensors x) { return std::vector<Tensor>{f(x[0], x[1])}; }};
}

const Placements all_kinds = shards_and(2, {sum_of, average_of, largest_of, least_of});
const Placements few_kinds = shards_and(1, {sum_of, average_of, largest_of});

// A rule of two pending tensors forgets that what is replicated is there once a rank.
TEST(PointwiseStrategies, OfTwoTensorsGiveWholeBits) {
  auto add_two = [](const Tensor& a, const Tensor& b) { return add(a, b, -2); };
  auto sub_two = [](const Tensor& a, const Tensor& b) { return sub(a, b); };
  auto rsub_two = [](const Tensor& a, const Tensor& b) { return rsub(a, b); };
  for (auto [name, f] : {std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&)>{
                             "add", add_two},
                         {"sub", sub_two},
                         {"rsub", rsub_two},
                         {"mul", mul}}) {
    expect_whole_bits(of_two(name, f, all_kinds, all_kinds), halves);
    expect_whole_bits(of_two(name, f, few_kinds, few_kinds), grids);
  }
}

// A divisor is taken apart.
TEST(PointwiseStrategies, QuotientsGiveWholeBits) {
  auto by_power = [](const Tensor& a, const Tensor& b) { return div(a, add(mul(sign(b), 2), 4)); };
  auto floored = [](const Tensor& a, const Tensor& b) {
    return div(a, add(mul(b, b), 1), RoundingMode::floor);
  };
  auto rest = [](const Tensor& a, const Tensor& b) { return remainder(a, add(mul(b, b), 1)); };
  auto modulo = [](const Tensor& a, const Tensor& b) { return fmod(a, add(mul(b, b), 1)); };
  auto raised = [](const Tensor& a, const Tensor& b) { return pow(abs(a), sign(b)); };
  for (auto [name, f] : {std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&)>{
                             "div", by_power},
                         {"div floor", floored},
                         {"remainder", rest},
                         {"fmod", modulo},
                         {"pow", raised}}) {
    Call call = of_two(name, f, all_kinds, all_kinds);
    call.has_gradient = false;
    expect_whole_bits(call, halves);
  }
}

// Broadcast dims are cut, or their gradient isn't added up over the ranks that hold the others.
TEST(PointwiseStrategies, BroadcastsGiveWholeBits) {
  for (Shape second : {Shape{3}, Shape{5, 1}, Shape{1, 3}, Shape{}}) {
    Placements alphabet = shards_and(std::int64_t(second.size()), {sum_of, average_of});
    Call call{.name = "broadcast",
              .inputs = {{.shape = {5, 3}, .alphabet = all_kinds},
                         {.shape = second, .alphabet = alphabet}},
              .function = [](Tensors x) { return std::vector<Tensor>{add(mul(x[0], x[1]), x[1])}; },
              .has_gradient = false};
    expect_whole_bits(call, halves);
  }
}

// Ranks without elements fail, or give a piece of another shape.
TEST(PointwiseStrategies, EmptyPiecesAndTensorsGiveWholeBits) {
  for (Shape shape : {Shape{1, 3}, Shape{2, 1}, Shape{0, 3}}) {
    Call call{.name = "empty",
              .inputs = {{.shape = shape, .alphabet = all_kinds},
                         {.shape = shape, .alphabet = all_kinds}},
              .function = [](Tensors x) { return std::vector<Tensor>{sub(x[0], x[1])}; }};
    expect_whole_bits(call, halves);
  }
}

// Integers are cut into equal parts, which drops what is left over, or become floating.
TEST(PointwiseStrategies, IntegersStayWhole) {
  Placements pending = shards_and(1, {sum_of, largest_of, least_of});
  for (DType dtype : {DType::int64, DType::int32}) {
    Formula data{.rule = Rule::small, .dtype = dtype};
    auto both = [](Tensors x) { return std::vector<Tensor>{add(mul(x[0], 3), x[1])}; };
    expect_whole_bits({.name = "integers",
                       .inputs = {{.shape = {5}, .alphabet = pending, .data = data},
                                  {.shape = {5}, .alphabet = pending, .data = data}},
                       .function = both});
  }
}

// In exact arithmetic a pending sum is rounded in parts.
TEST(PointwiseStrategies, ExactSumsGiveTheBitsOfOneDevice) {
  Formula wide{.rule = Rule::wide};
  auto chain = [](Tensors x) {
    return std::vector<Tensor>{div(mul(sub(x[0], x[1]), x[1]), 3)};
  };
  Placements alphabet = shards_and(2);
  expect_whole_bits({.name = "exact",
                     .inputs = {{.shape = {5, 3}, .alphabet = alphabet, .data = wide},
                                {.shape = {5, 3}, .alphabet = alphabet, .data = wide}},
                     .function = chain},
                    {.arithmetic = Arithmetic::exact()});
}

}  // namespace
}  // namespace simmesh
