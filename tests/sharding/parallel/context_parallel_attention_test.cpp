#include "sharding/parallel/context_parallel_attention.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/ranks/rank_figures.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/attention.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

// Attention over a split sequence has the bits of one device, in forward and backward.
namespace simmesh {
namespace {

using testing::expect_error;

constexpr ContextMethod methods[] = {ContextMethod::ring, ContextMethod::all_gather,
                                     ContextMethod::ulysses};
constexpr SequenceOrder orders[] = {SequenceOrder::contiguous, SequenceOrder::head_tail};

struct Sizes {
  std::int64_t batch = 2, heads = 4, kv_heads = 4, length = 8, width = 3, value_width = 5;
  DType dtype = DType::float32;
  Rule rule = Rule::unit;
};

Tensor leaf(const Tensor& values) {
  Tensor result = values.detach().clone();
  set_requires_grad(result);
  return result;
}

struct Attended {
  Tensor output, q, k, v;  // and the gradients
};

// Whole tensors, which each rank has.
struct Sequence {
  Tensor q, k, v, upstream;

  explicit Sequence(const Sizes& s)
      : q(data({s.batch, s.heads, s.length, s.width}, s, 1)),
        k(data({s.batch, s.kv_heads, s.length, s.width}, s, 2)),
        v(data({s.batch, s.kv_heads, s.length, s.value_width}, s, 3)),
        upstream(data({s.batch, s.heads, s.length, s.value_width}, s, 4)) {}

  static Tensor data(const Shape& shape, const Sizes& s, std::uint64_t seed) {
    return formula(shape, {.rule = s.rule, .seed = seed, .dtype = s.dtype});
  }

  Attended on_one_device(bool is_causal) const {
    Tensor query = leaf(q), key = leaf(k), value = leaf(v);
    std::int64_t repeats = q.size(1) / k.size(1);
    Tensor keys = repeats == 1 ? key : repeat_interleave(key, repeats, 1);
    Tensor values = repeats == 1 ? value : repeat_interleave(value, repeats, 1);
    Tensor output =
        scaled_dot_product_attention(query, keys, values, {.is_causal = is_causal, .scale = {}});
    backward(output, {.gradients = {upstream}});
    return {output.detach(), grad_of(query), grad_of(key), grad_of(value)};
  }

  Attended cut(const ProcessGroup& group, const ContextParallelOptions& options) const {
    SequenceSplit split{q.size(2), group.size(), options.order};
    auto own = [&](const Tensor& x) { return by_rank(x, 2, split)[std::size_t(group.rank())]; };
    Tensor query = leaf(own(q)), key = leaf(own(k)), value = leaf(own(v));
    Tensor output = context_parallel_attention(query, key, value, group, options);
    backward(output, {.gradients = {own(upstream)}});
    return {output.detach(), grad_of(query), grad_of(key), grad_of(value)};
  }
};

void expect_one_device(const Sizes& sizes, const ProcessGroup& group) {
  Sequence sequence(sizes);
  for (bool is_causal : {false, true}) {
    Attended one = sequence.on_one_device(is_causal);
    for (ContextMethod method : methods)
      for (SequenceOrder order : orders) {
        Attended cut = sequence.cut(group, {method, order, is_causal, {}});
        SequenceSplit split{sizes.length, group.size(), order};
        auto own = [&](const Tensor& x) {
          return by_rank(x, 2, split)[std::size_t(group.rank())].contiguous();
        };
        EXPECT_SAME_BITS(cut.output, own(one.output));
        EXPECT_SAME_BITS(cut.q, own(one.q));
        EXPECT_SAME_BITS(cut.k, own(one.k));
        EXPECT_SAME_BITS(cut.v, own(one.v));
      }
  }
}

class ContextParallelAttention : public ::testing::TestWithParam<std::int64_t> {};

// Any length: divisible, uneven, with ranks that have nothing, and none at all.
SIMMESH_TEST_P(ContextParallelAttention, IsOneDevice,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (std::int64_t length : {0, 1, 2, 7, 16})
    expect_one_device({.length = length}, process_group(mesh));
}

SIMMESH_TEST_P(ContextParallelAttention, SharesKeysAmongHeads,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (std::int64_t kv_heads : {1, 2, 3})
    expect_one_device({.heads = 6, .kv_heads = kv_heads, .length = 9}, process_group(mesh));
}

SIMMESH_TEST_P(ContextParallelAttention, IsOneDeviceForEachDtypeAndMagnitude,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float64})
    for (Rule rule : {Rule::unit, Rule::wide})
      expect_one_device(
          {.batch = 1, .heads = 2, .kv_heads = 2, .length = 11, .dtype = dtype, .rule = rule},
          process_group(mesh));
}

// The sum over k of |a[k]| |b[k]|, for each element of a product.
Tensor sum_of_sizes(const Tensor& a, const Tensor& b) { return matmul(abs(a), abs(b)); }

// A bound of how far the gradients of keys and values may be from one device's in float32, where a
// product is a chain of `length` fused multiply-adds, each of which rounds by at most u = 2^-24 of
// its value: that chain is off by at most length * u * S, where S is the sum of the terms' sizes.
// Cut into parts that are added, it is off by (length + parts) * u * S. Twice that also covers the
// rounding of S itself.
void expect_near(const Tensor& actual, const Tensor& expected, const Tensor& sizes, double terms) {
  Tensor bound = sizes * (2 * terms * std::ldexp(1.0, -24));
  EXPECT_TRUE(all(le(abs(actual - expected), bound)).values<bool>()[0]);
}

// In canonical arithmetic too rows are those of one device; the sums over rows of several ranks
// are rounded once a rank, unless a head's rows are all on one.
SIMMESH_TEST_P(ContextParallelAttention, RowsAreOneDeviceInCanonicalArithmetic,
               {.mesh = {GetParam()}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh);
  Sequence sequence({.length = 19});
  Attended one = sequence.on_one_device(true);
  Tensor weights = attention_weights(sequence.q, sequence.k, {.is_causal = true, .scale = {}});
  Tensor weighted = matmul(sequence.upstream, transpose(sequence.v, -2, -1)) * weights;
  Tensor scores = (weighted - weights * sum(weighted, -1, true)) / std::sqrt(3.0);
  Tensor k_sizes = sum_of_sizes(transpose(scores, -2, -1), sequence.q);
  Tensor v_sizes = sum_of_sizes(transpose(weights, -2, -1), sequence.upstream);
  for (ContextMethod method : methods)
    for (SequenceOrder order : orders) {
      Attended cut = sequence.cut(group, {method, order, true, {}});
      SequenceSplit split{19, group.size(), order};
      auto own = [&](const Tensor& x) {
        return by_rank(x, 2, split)[std::size_t(group.rank())].contiguous();
      };
      EXPECT_SAME_BITS(cut.output, own(one.output));
      EXPECT_SAME_BITS(cut.q, own(one.q));
      if (method == ContextMethod::ulysses) {
        EXPECT_SAME_BITS(cut.k, own(one.k));
        EXPECT_SAME_BITS(cut.v, own(one.v));
      } else {
        double terms = 19 + 2 * double(group.size());
        expect_near(cut.k, own(one.k), own(k_sizes), terms);
        expect_near(cut.v, own(one.v), own(v_sizes), terms);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Worlds, ContextParallelAttention, ::testing::Values(1, 2, 3, 4, 8));

// Returns the costs of a run of one layer for each rank.
std::vector<RankFigures> figures_of(const WorldOptions& options, ContextMethod method) {
  std::vector<RankFigures> figures(options.ranks);
  World world(options);
  Outcome outcome = world.run([&](Rank& rank) {
    Sequence sequence({.kv_heads = 2, .length = 13});
    sequence.cut(ProcessGroup::world(), {method, SequenceOrder::head_tail, true, {}});
    figures[rank.id()] = RankFigures::of(rank);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return figures;
}

// Returns the operations of one layer: the agreement on the length; by ring three times n - 1
// messages, each of which is sent, received, and waited for on both sides; else the collectives.
std::uint64_t operations_of(ContextMethod method, std::uint64_t ranks) {
  if (method == ContextMethod::ring) return 1 + 3 * (ranks - 1) * 4;
  return method == ContextMethod::all_gather ? 1 + 3 : 1 + 8;
}

// Arithmetics differ in bits alone; and what values don't decide needs no values.
TEST(ContextParallelAttention, CostsTheSameInAnyArithmetic) {
  for (ContextMethod method : methods) {
    auto canonical = figures_of({.ranks = 3}, method);
    auto exact = figures_of({.ranks = 3, .arithmetic = Arithmetic::exact()}, method);
    auto shapes = figures_of({.ranks = 3, .shapes_only = true}, method);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(canonical[rank].operations, operations_of(method, 3));
      EXPECT_EQ(canonical[rank].operations, exact[rank].operations);
      EXPECT_EQ(canonical[rank].operations, shapes[rank].operations);
      EXPECT_EQ(canonical[rank].total.peak, shapes[rank].total.peak);
    }
  }
}

SIMMESH_TEST(ContextParallelAttention, RefusesShapesThatDontFit, {.mesh = {2}, .schedules = 2}) {
  ProcessGroup group = process_group(mesh);
  Tensor q = zeros({1, 4, 2, 3}, DType::float32);
  auto attend = [&](const Tensor& k, const Tensor& v) {
    return [=] { context_parallel_attention(q, k, v, group); };
  };
  constexpr std::string_view where = "[sharding/context_parallel] expected q [B, H, T, E]";
  expect_error(attend(zeros({1, 3, 2, 3}, DType::float32), q), ErrorKind::value_error, where);
  expect_error(attend(q, zeros({1, 4, 3, 3}, DType::float32)), ErrorKind::value_error, where);
  expect_error(attend(q, zeros({1, 4, 2, 3}, DType::float64)), ErrorKind::value_error, where);
  SequenceSplit longer{.length = 6, .ranks = 2};
  expect_error([&] { context_parallel_attention(q, q, q, longer, group); }, ErrorKind::value_error,
               "of the group: expected 3 of 6 positions, got 2");
}

// Ranks with other parts than they should have get an error with the part of each.
SIMMESH_TEST(ContextParallelAttention, RefusesLengthsOfNoSequence, {.mesh = {2}, .schedules = 2}) {
  ProcessGroup group = process_group(mesh);
  Tensor q = zeros({1, 4, 1 + 3 * group.rank(), 3}, DType::float32);
  expect_error([&] { context_parallel_attention(q, q, q, group); }, ErrorKind::value_error,
               "of 5 positions in head-tail order, got 1, 4");
}

}  // namespace
}  // namespace simmesh
