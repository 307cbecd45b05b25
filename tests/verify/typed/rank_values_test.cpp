#include "verify/typed/rank_values.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using enum typed::SpmdType;

const RankGrid four_ranks({{"dp", 2}, {"tp", 2}});

// The tensor of a rank holds the rank, then the rank plus 10.
RankValues ranks_and_tens() {
  RankValues values;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    Tensor x = empty({2}, DType::float64);
    x.mutable_values<double>()[0] = double(rank);
    x.mutable_values<double>()[1] = double(rank + 10);
    values.push_back(x);
  }
  return values;
}

typed::Conversion tp_call(std::string op, const typed::TypeOnAxis& src,
                          const typed::TypeOnAxis& dst) {
  return {.op = std::move(op), .src = src, .dst = dst, .axes = {"tp"}, .is_expert = true};
}

std::vector<double> elements_of(const Tensor& x) {
  Tensor whole = x.contiguous();
  auto values = whole.values<double>();
  return {values.begin(), values.end()};
}

TEST(RankGrid, LinesRunAlongTheirAxes) {
  EXPECT_EQ(four_ranks.lines({"tp"}), (std::vector<std::vector<std::size_t>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(four_ranks.lines({"dp"}), (std::vector<std::vector<std::size_t>>{{0, 2}, {1, 3}}));
  EXPECT_EQ(four_ranks.lines({"dp", "tp"}).size(), 1u);
  EXPECT_EQ(four_ranks.name_of(2), "rank (dp 1, tp 0)");
  testing::expect_error([] { four_ranks.coordinate(0, "ep"); }, ErrorKind::key_error, "got 'ep'");
}

// If this fails, the judge runs other collectives than the package.
TEST(RankValues, ConversionsRunAlongTheAxis) {
  RankValues x = ranks_and_tens();
  EXPECT_EQ(
      elements_of(run_conversion(four_ranks, tp_call("all_reduce", {partial}, {replicate}), x)[3]),
      (std::vector<double>{5, 25}));
  EXPECT_EQ(elements_of(
                run_conversion(four_ranks, tp_call("all_gather", {varying, 0}, {replicate}), x)[0]),
            (std::vector<double>{0, 10, 1, 11}));
  EXPECT_EQ(elements_of(
                run_conversion(four_ranks, tp_call("reduce_scatter", {partial}, {varying}), x)[1]),
            (std::vector<double>{21}));
  EXPECT_EQ(
      elements_of(run_conversion(four_ranks, tp_call("all_to_all", {varying}, {varying}), x)[1]),
      (std::vector<double>{10, 11}));
  EXPECT_EQ(
      elements_of(run_conversion(four_ranks, tp_call("convert", {varying, 0}, {partial}), x)[1]),
      (std::vector<double>{0, 0, 1, 11}));
  EXPECT_EQ(
      elements_of(run_conversion(four_ranks, tp_call("convert", {replicate}, {partial}), x)[1]),
      (std::vector<double>{0, 0}));
  testing::expect_error(
      [&] {
        run_conversion(four_ranks, tp_call("convert", {replicate}, {varying, 1}), x);
      },
      ErrorKind::value_error, "expected a shape that 2 ranks can cut as S(1), got [2]");
}

// The inner product of a gradient with the results is that of its adjoint with the operands.
TEST(RankValues, AdjointsBelongToTheirConversions) {
  auto product = [](const RankValues& a, const RankValues& b) {
    double sum = 0;
    for (std::size_t rank = 0; rank < a.size(); ++rank) {
      std::vector<double> x = elements_of(a[rank]), y = elements_of(b[rank]);
      for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    }
    return sum;
  };
  RankValues x = ranks_and_tens();
  for (const typed::Conversion& call :
       {tp_call("all_reduce", {partial}, {replicate}),
        tp_call("all_gather", {varying}, {replicate}),
        tp_call("all_gather", {varying, 0}, {invariant}),
        tp_call("reduce_scatter", {partial}, {varying, 0}),
        tp_call("all_to_all", {varying}, {varying}), tp_call("convert", {replicate}, {varying}),
        tp_call("convert", {varying, 0}, {partial}), tp_call("convert", {invariant}, {partial}),
        tp_call("reinterpret", {varying}, {partial})}) {
    RankValues y = run_conversion(four_ranks, call, x), gradient;
    for (const Tensor& of_rank : y) {
      Tensor g = empty(of_rank.shape(), DType::float64);
      for (double& value : g.mutable_values<double>()) value = double(gradient.size() * 3 + 1);
      gradient.push_back(g);
    }
    EXPECT_EQ(product(gradient, y), product(adjoint_of(four_ranks, call, gradient), x))
        << call.op << " " << typed::to_string(call.src) << ">" << typed::to_string(call.dst);
  }
}

TEST(RankValues, MeaningsFollowTheType) {
  RankValues x = ranks_and_tens();
  std::vector<Tensor> line = {x[0], x[1]};
  EXPECT_EQ(elements_of(meaning_of(line, {replicate})), (std::vector<double>{0, 10}));
  EXPECT_EQ(elements_of(meaning_of(line, {partial})), (std::vector<double>{1, 21}));
  EXPECT_EQ(meaning_of(line, {varying}).shape(), (Shape{2, 2}));
  EXPECT_EQ(meaning_of(line, {varying, 0}).shape(), (Shape{4}));
}

TEST(RankValues, NaNsAreEqualAndShapesAreNot) {
  Tensor nan = full({2}, DType::float64, std::nan(""));
  EXPECT_TRUE(same_values(nan, full({2}, DType::float32, std::nan(""))));
  EXPECT_FALSE(same_values(nan, zeros({2}, DType::float64)));
  EXPECT_FALSE(same_values(nan, full({1}, DType::float64, std::nan(""))));
}

}  // namespace
}  // namespace simmesh
