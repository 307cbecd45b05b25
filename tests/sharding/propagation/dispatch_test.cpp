#include "sharding/propagation/dispatch.h"

#include "collectives/comm_debug_mode.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/shapes/joining.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dispatched_op.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/dtensor/implicit_replication.h"
#include "sharding/propagation/propagation_cache.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

Tensor numbers(DimSpan shape, std::uint64_t seed) {
  return formula(Shape(shape.begin(), shape.end()), {.rule = Rule::unit, .seed = seed});
}

Tensor full(const Tensor& tensor) { return DTensor::of(tensor).full_tensor(); }

// A product whose contraction is split loses bits, or its partial sum is used as the value.
SIMMESH_TEST(Dispatch, SplitContractionHasTheBitsOfOneDevice,
             {.mesh = {2, 2}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  Tensor a = numbers(Dims{7, 6}, 1), b = numbers(Dims{6, 5}, 2);
  DTensor x = distribute_tensor(a, mesh, {Shard(0), Shard(1)});
  DTensor w = distribute_tensor(b, mesh, {Replicate(), Shard(0)});
  DTensor y = mm(x, w);
  EXPECT_EQ(to_string(y.placements()), "S(0),P(sum)");
  EXPECT_SAME_BITS(y.full_tensor(), mm(a, b));
}

// A value that every rank adds to its part of a sum is added once a rank.
SIMMESH_TEST(Dispatch, ReplicatedPlusPartialAddsOnce, {.mesh = {4}, .schedules = 20}) {
  Tensor part = tensor_of<float>({3}, {1, 2, 3}), bias = tensor_of<float>({3}, {4, 8, 12});
  DTensor x = from_local(part, mesh, {Partial()}), b = from_local(bias, mesh, {Replicate()});
  EXPECT_SAME_BITS(full(x + b), tensor_of<float>({3}, {8, 16, 24}));
  EXPECT_SAME_BITS(full(x + 1.0), tensor_of<float>({3}, {5, 9, 13}));
}

// A plain tensor counts as replicated without being asked, or is refused where it was.
SIMMESH_TEST(Dispatch, RefusesPlainTensorsBesideDistributedOnes, {.mesh = {2}, .schedules = 6}) {
  DTensor x = distribute_tensor(numbers(Dims{4}, 1), mesh, {Shard(0)});
  Tensor plain = numbers(Dims{4}, 2);
  testing::expect_error([&] { add(x, plain); }, ErrorKind::runtime_error,
                        "mixed torch.Tensor and DTensor");
  EXPECT_SAME_BITS(full(add(x, tensor_of<float>({1}, {2}))), add(numbers(Dims{4}, 1), 2.0));
  ImplicitReplication scope;
  EXPECT_SAME_BITS(full(add(x, plain)), add(numbers(Dims{4}, 1), plain));
}

// Tensors of two meshes are used together as if they were on one.
SIMMESH_TEST(Dispatch, RefusesTensorsOfDifferentMeshes, {.mesh = {2, 2}, .schedules = 6}) {
  Tensor values = numbers(Dims{4}, 1);
  DTensor x = distribute_tensor(values, mesh, {Shard(0), Replicate()});
  DTensor y = distribute_tensor(values, init_device_mesh({4}, {"flat"}), {Shard(0)});
  testing::expect_error([&] { add(x, y); }, ErrorKind::runtime_error, "different meshes");
  testing::expect_error([&] { cat({x, y}, 0); }, ErrorKind::not_implemented_error, "not supported");
}

// In place, the tensor moves under its owner, or its partial label stays over a finished value.
SIMMESH_TEST(Dispatch, InPlaceWritesThePieceOrRefuses, {.mesh = {2}, .schedules = 6}) {
  Tensor values = numbers(Dims{5}, 1);
  Tensor x = distribute_tensor(values, mesh, {Shard(0)});
  Tensor replicated = distribute_tensor(values, mesh, {Replicate()});
  add_(x, replicated);
  EXPECT_SAME_BITS(full(x), add(values, values));
  Tensor partial = from_local(values.clone(), mesh, {Partial()});
  mul_(partial, 3.0);
  EXPECT_SAME_BITS(full(partial), mul(add(values, values), 3.0));
  testing::expect_error([&] { add_(partial, 1.0); }, ErrorKind::runtime_error,
                        "in-place operations that require placement changes");
}

// Results in a given tensor have its placements.
SIMMESH_TEST(Dispatch, OutTensorsKeepTheirLayout, {.mesh = {3}, .schedules = 6}) {
  Tensor values = numbers(Dims{7}, 1);
  Tensor x = distribute_tensor(values, mesh, {Shard(0)});
  Tensor out = distribute_tensor(values, mesh, {Replicate()});
  add_out(out, x, x);
  EXPECT_EQ(to_string(DTensor::of(out).placements()), "R");
  EXPECT_SAME_BITS(DTensor::of(out).local(), add(values, values));
}

// A cached choice is given to a call of other placements, sizes or arguments.
SIMMESH_TEST(Dispatch, AnswersFromTheCacheAreThoseOfTheCall, {.mesh = {2}, .schedules = 6}) {
  PropagationCacheInfo before = propagation_cache_info();
  for (int round = 0; round < 3; ++round)
    for (std::int64_t size : {4, 5, 1})
      for (const Placement& placement : {Placement(Shard(0)), Replicate(), Partial()})
        for (double alpha : {1.0, 2.0}) {
          Tensor values = numbers(Dims{size}, std::uint64_t(size));
          DTensor x = placement.is_partial() ? from_local(values, mesh, {placement})
                                             : distribute_tensor(values, mesh, {placement});
          Tensor whole = placement.is_partial() ? add(values, values) : values;
          EXPECT_SAME_BITS(full(add(x, x, alpha)), add(whole, whole, alpha));
        }
  PropagationCacheInfo after = propagation_cache_info();
  EXPECT_EQ(after.misses - before.misses, 18u);
  EXPECT_EQ(after.hits - before.hits, 36u);
}

// Gradients of a tensor that is used sharded and replicated must add up to the whole gradient.
SIMMESH_TEST(Dispatch, GradientsComeBackInPlacementsThatAddUp,
             {.mesh = {2, 2}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  Tensor a = numbers(Dims{6, 4}, 1), b = numbers(Dims{4, 5}, 2), upstream = numbers(Dims{6, 5}, 3);
  Tensor whole_a = a.detach().clone(), whole_b = b.detach().clone();
  set_requires_grad(whole_a);
  set_requires_grad(whole_b);
  backward(mm(whole_a, whole_b), {.gradients = {upstream}});
  DTensor x = distribute_tensor(a, mesh, {Shard(0), Shard(1)});
  DTensor w = distribute_tensor(b, mesh, {Replicate(), Shard(0)});
  x.set_requires_grad();
  w.set_requires_grad();
  Tensor y = DTensor(mm(x, w)).redistribute({Shard(0), Replicate()});
  backward(y, {.gradients = {distribute_tensor(upstream, mesh, {Shard(0), Replicate()})}});
  EXPECT_SAME_BITS(x.grad()->full_tensor(), grad_of(whole_a));
  EXPECT_SAME_BITS(w.grad()->full_tensor(), grad_of(whole_b));
}

// An observer is told where an op ran, not only what it was given.
SIMMESH_TEST(Dispatch, ObserversSeeGivenAndUsedPlacements, {.mesh = {2}, .schedules = 6}) {
  std::vector<std::string> seen;
  DispatchScope scope([&](const DispatchedOp& one) {
    seen.push_back(one.op.name + " " + to_string(*one.given[0]) + " " + to_string(*one.used[0]) +
                   " " + to_string(one.outputs[0]));
  });
  DTensor x = from_local(numbers(Dims{4}, 1), mesh, {Partial()});
  add(x, 1.0);
  EXPECT_EQ(seen, std::vector<std::string>{"add P(sum) R R"});
}

}  // namespace
}  // namespace simmesh
