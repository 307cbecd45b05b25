#include "core/arithmetic/reductions/rank_order.h"

#include <gtest/gtest.h>
#include <vector>

#include "core/arithmetic/reductions/combine.h"
#include "core/check/int128.h"
#include "core/tensor/formula.h"
#include "tests/core/arithmetic/reduced.h"

namespace simmesh {
namespace {

// One operation, computed in a wider type: exact, or with so many bits that rounding it again
// to T gives the correctly rounded result.
template <class T>
T naive(ReduceOp op, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    bool joins = op == ReduceOp::sum || op == ReduceOp::max || op == ReduceOp::bor;
    if (op == ReduceOp::bxor) return a != b;
    return joins ? a || b : a && b;
  } else {
    if (op == ReduceOp::min) return b < a ? b : a;
    if (op == ReduceOp::max) return b > a ? b : a;
    if constexpr (std::is_same_v<T, double>) {
      return op == ReduceOp::product ? a * b : a + b;
    } else if constexpr (!std::is_integral_v<T>) {
      double x = double(static_cast<float>(a)), y = double(static_cast<float>(b));
      return rounded_to<T>(op == ReduceOp::product ? x * y : x + y);
    } else {
      UInt128 x = UInt128(Int128(a)), y = UInt128(Int128(b));
      switch (op) {
        case ReduceOp::band: return T(x & y);
        case ReduceOp::bor: return T(x | y);
        case ReduceOp::bxor: return T(x ^ y);
        case ReduceOp::product: return T(x * y);
        default: return T(x + y);
      }
    }
  }
}

template <class T>
T naive_fold(const Reduction& call, const std::vector<Tensor>& operands, std::size_t i) {
  auto term = [&](std::size_t r) {
    T x = operands[r].values<T>()[i];
    return call.op == ReduceOp::premul_sum ? naive(ReduceOp::product, x, rounded_to<T>(call.factor))
                                           : x;
  };
  T value = term(0);
  for (std::size_t r = 1; r < operands.size(); ++r) value = naive(call.op, value, term(r));
  if constexpr (!std::is_integral_v<T>)
    if (call.op == ReduceOp::avg)
      value = rounded_to<T>(
          (std::is_same_v<T, double> ? double(value) : double(static_cast<float>(value))) /
          double(operands.size()));
  return value;
}

bool is_defined(ReduceOp op, DType dtype) {
  bool bitwise = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
  bool scaled = op == ReduceOp::avg || op == ReduceOp::premul_sum;
  return is_floating_point(dtype) ? !bitwise : !scaled;
}

std::vector<Tensor> operands_of(DType dtype, std::size_t members, std::int64_t count) {
  std::vector<Tensor> operands;
  for (std::size_t r = 0; r < members; ++r)
    operands.push_back(formula({count}, {.rule = Rule::wide, .seed = 100 + r, .dtype = dtype}));
  return operands;
}

void expect_naive(const Reduction& call, DType dtype, std::size_t members, std::int64_t count) {
  std::vector<Tensor> operands = operands_of(dtype, members, count);
  Tensor actual = reduced(RankOrder(), operands, call);
  Tensor expected = empty({count}, dtype);
  visit_dtype(dtype, [&]<class T>(T) {
    auto out = expected.mutable_values<T>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = naive_fold<T>(call, operands, i);
  });
  EXPECT_TRUE(same_bits(actual, expected))
      << to_string(call.op) << " of " << members << " x " << to_string(dtype);
}

// If this fails, collectives differ from PyTorch's LocalTensor in the last bit.
TEST(RankOrder, IsTheLeftFoldForEveryOpDTypeAndSize) {
  for (ReduceOp op : all_reduce_ops)
    for (DType dtype : all_dtypes)
      for (std::size_t members = 1; members <= 5; ++members)
        if (is_defined(op, dtype)) expect_naive({.op = op, .factor = 0.3}, dtype, members, 40);
}

// If this fails, elements at the borders of the cache-sized blocks are wrong or missing.
TEST(RankOrder, BlocksCoverAllElements) {
  expect_naive({.op = ReduceOp::avg}, DType::float32, 3, 8192 + 8192 + 5);
  expect_naive({.op = ReduceOp::premul_sum, .factor = 0.7}, DType::float64, 3, 4097);
  expect_naive({.op = ReduceOp::sum}, DType::uint8, 2, 32 * 1024 + 1);
  for (std::int64_t count : {0, 1, 8191, 8192, 8193, 20000}) {
    std::int64_t next = 0;
    blocks_of(count, DType::float32, [&](std::int64_t begin, std::int64_t size) {
      EXPECT_EQ(begin, next);
      EXPECT_GT(size, 0);
      next += size;
    });
    EXPECT_EQ(next, count);
  }
}

// If this fails, the data hash of a run is not the hash of its results.
TEST(RankOrder, HashIsThatOfTheResult) {
  ElementsHash hash(DType::float32);
  Tensor result = reduced(RankOrder(), operands_of(DType::float32, 3, 20000), {.hash = &hash});
  EXPECT_EQ(hash.value(), bits_hash({result.data(), result.bytes()}));
}

}  // namespace
}  // namespace simmesh
