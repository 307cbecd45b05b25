#include "sharding/parallel/context_parallel_attention.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/neural/attention.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

// Attention over a split sequence has the bits of one device, in forward and backward.
namespace simmesh {
namespace {

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

INSTANTIATE_TEST_SUITE_P(Worlds, ContextParallelAttention, ::testing::Values(1, 2, 3, 4, 8));

}  // namespace
}  // namespace simmesh
