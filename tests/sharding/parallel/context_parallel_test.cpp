#include "sharding/parallel/context_parallel.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/nn/containers.h"
#include "core/nn/embedding.h"
#include "core/nn/linear.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/formula.h"
#include "sharding/parallel/colwise_parallel.h"
#include "sharding/parallel/parallelize.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

// Modules whose sequence is cut over ranks give the bits of one device.
namespace simmesh {
namespace {

using testing::expect_error;

constexpr std::int64_t width = 8;

nn::ModulePtr filled(nn::ModulePtr module) {
  std::uint64_t seed = 20;
  for (auto& [name, parameter] : module->named_parameters()) {
    Tensor target = parameter.detach();
    copy_(target, formula(parameter.shape(), {.rule = Rule::unit, .seed = ++seed}));
  }
  return module;
}

nn::ModulePtr attention(bool is_causal, std::int64_t kv_heads, bool bias = true) {
  return std::make_shared<nn::Attention>(nn::Attention::Options{.width = width,
                                                                .heads = 4,
                                                                .causal = is_causal,
                                                                .bias = bias,
                                                                .kv_heads = kv_heads,
                                                                .rotary_theta = 10000.0});
}

// Two layers, so that the results of one rank reach the keys of others.
nn::ModulePtr two_layers(bool is_causal, std::int64_t kv_heads) {
  return filled(std::make_shared<nn::Sequential>(std::vector<nn::NamedModule>{
      {"position", std::make_shared<nn::Position>(nn::Position::Options{16, width})},
      {"first", attention(is_causal, kv_heads)},
      {"between", std::make_shared<nn::Linear>(nn::Linear::Options{width, width})},
      {"second", attention(is_causal, kv_heads)}}));
}

Tensor leaf_of(const Tensor& values) {
  Tensor result = values.detach().clone();
  set_requires_grad(result);
  return result;
}

void expect_one_device(const ContextParallel& style, const nn::ModulePtr& one,
                       const nn::ModulePtr& cut, const DeviceMesh& mesh, std::int64_t length) {
  ProcessGroup group = process_group(mesh);
  ContextShard shard{.dim = 1, .order = style.order};
  Tensor whole = leaf_of(formula({2, length, width}, {.rule = Rule::unit, .seed = 1}));
  Tensor upstream = formula({2, length, width}, {.rule = Rule::unit, .seed = 2});
  Tensor expected = (*one)(whole);
  backward(expected, {.gradients = {upstream}});

  style.apply(*cut, mesh);
  Tensor own = leaf_of(context_parallel_shard(whole.detach(), shard, group));
  Tensor output = (*cut)(own);
  backward(output, {.gradients = {context_parallel_shard(upstream, shard, group)}});
  EXPECT_SAME_BITS(context_parallel_unshard(output, shard, group), expected.detach());
  EXPECT_SAME_BITS(context_parallel_unshard(grad_of(own), shard, group), grad_of(whole));
  auto wanted = one->named_parameters(), found = cut->named_parameters();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    KeepUnrounded scope;
    EXPECT_SAME_BITS(all_reduce(grad_of(found[i].second), ReduceOp::sum, group),
                     grad_of(wanted[i].second));
  }
}

class ContextParallelTest : public ::testing::TestWithParam<std::int64_t> {};

// Keys of a head shared by others, and positions that count along the whole sequence.
SIMMESH_TEST_P(ContextParallelTest, RunsAttentionsAsOneDevice,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (ContextMethod method :
       {ContextMethod::ring, ContextMethod::all_gather, ContextMethod::ulysses})
    for (SequenceOrder order : {SequenceOrder::contiguous, SequenceOrder::head_tail})
      for (bool is_causal : {false, true})
        for (std::int64_t length : {5, 12})
          expect_one_device({method, order}, two_layers(is_causal, 2), two_layers(is_causal, 2),
                            mesh, length);
}

INSTANTIATE_TEST_SUITE_P(Worlds, ContextParallelTest, ::testing::Values(1, 2, 3, 4));

// An attention whose heads are cut over a mesh, with queries, keys and values as plain pieces or as
// distributed tensors.
nn::ModulePtr cut_by_heads(const DeviceMesh& mesh, bool is_local) {
  nn::ModulePtr module = filled(attention(true, 2, false));
  ColwiseParallel columns{.use_local_output = is_local};
  parallelize(*module, mesh, {{"w[qkv]", columns}, {"wo", RowwiseParallel()}});
  return module;
}

// Heads are cut over one mesh dim and the sequence over the other: outputs are those of one device,
// gradients of inputs those of tensor parallelism alone.
SIMMESH_TEST(
    ContextParallel, GoesWithTensorParallelism,
    {.mesh = {2, 2}, .names = {"cp", "tp"}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup group = process_group(mesh["cp"]);
  ContextShard shard{.dim = 1};
  Tensor x = formula({2, 6, width}, {.rule = Rule::unit, .seed = 1});
  Tensor upstream = formula({2, 6, width}, {.rule = Rule::unit, .seed = 2});
  Tensor expected = (*filled(attention(true, 2, false)))(x).detach();
  for (ContextMethod method :
       {ContextMethod::ring, ContextMethod::all_gather, ContextMethod::ulysses})
    for (bool is_local : {true, false}) {
      Tensor whole = leaf_of(x), own = leaf_of(context_parallel_shard(x, shard, group));
      nn::ModulePtr heads = cut_by_heads(mesh["tp"], true);
      backward((*heads)(whole), {.gradients = {upstream}});
      nn::ModulePtr both = cut_by_heads(mesh["tp"], is_local);
      ContextParallel{.method = method}.apply(*both, mesh["cp"]);
      Tensor output = (*both)(own);
      backward(output, {.gradients = {context_parallel_shard(upstream, shard, group)}});
      EXPECT_SAME_BITS(context_parallel_unshard(output, shard, group), expected);
      EXPECT_SAME_BITS(context_parallel_unshard(grad_of(own), shard, group), grad_of(whole));
    }
}

SIMMESH_TEST(ContextParallel, PutsShardsTogetherAgain, {.mesh = {3}, .schedules = 2}) {
  ProcessGroup group = process_group(mesh);
  for (SequenceOrder order : {SequenceOrder::contiguous, SequenceOrder::head_tail})
    for (std::int64_t length : {0, 1, 6, 11}) {
      Tensor x = formula({2, 3, length}, {.rule = Rule::unit, .seed = 3});
      ContextShard shard{.dim = 2, .order = order};
      Tensor part = context_parallel_shard(x, shard, group);
      EXPECT_SAME_BITS(context_parallel_unshard(part, shard, group), x);
    }
}

SIMMESH_TEST(ContextParallel, RefusesWhatHasNoAttention, {.mesh = {2}, .schedules = 1}) {
  nn::Linear linear({.in = 2, .out = 2});
  expect_error([&] { ContextParallel{}.apply(linear, mesh); }, ErrorKind::value_error,
               "expected a module with an nn::Attention");
}

}  // namespace
}  // namespace simmesh
