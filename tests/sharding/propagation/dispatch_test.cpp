#include "sharding/propagation/dispatch.h"

#include "collectives/comm_debug_mode.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
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

using InPlace = std::function<void(Tensor&)>;

std::vector<InPlace> changes_in_place() {
  return {[](Tensor& x) { mul_(x, 2); },     [](Tensor& x) { add_(x, x); },
          [](Tensor& x) { zero_(x); },       [](Tensor& x) { fill_(x, 3); },
          [](Tensor& x) { neg_(x); },        [](Tensor& x) { copy_from_(x, mul(x, 5)); },
          [](Tensor& x) { clamp_(x, 0, 1); }};
}

using View = std::function<Tensor(const Tensor&)>;

// Views of a [8, 6] tensor.
std::vector<View> views_of_rows() {
  return {[](auto& x) { return narrow(x, {.dim = 0, .start = 3, .length = 3}); },
          [](auto& x) { return narrow(x, {.dim = 1, .start = 1, .length = 2}); },
          [](auto& x) { return select(x, 0, 5); },
          [](auto& x) { return select(x, 1, 5); },
          [](auto& x) { return slice(x, {.dim = 0, .step = 2}); },
          [](auto& x) { return split(x, 3, 0)[1]; },
          [](auto& x) { return chunk(x, 2, 1)[1]; },
          [](auto& x) { return unbind(x, 0)[7]; },
          [](auto& x) { return unbind(x, 1)[0]; },
          [](auto& x) { return diagonal(x); },
          [](auto& x) { return transpose(x, 0, 1); },
          [](auto& x) { return unsqueeze(x, 0); },
          [](auto& x) {
            return view(x, {2, 4, 6});
          },
          [](auto& x) { return t(select(x, 0, 1).unsqueeze(0)); },
          [](auto& x) { return narrow(transpose(x, 0, 1), {.dim = 1, .start = 1, .length = 4}); }};
}

// A write through a view reaches the tensor, as on one device, or is refused: never lost.
SIMMESH_TEST(Dispatch, WritesThroughViewsReachTheTensorOrAreRefused,
             {.mesh = {2}, .schedules = 6}) {
  Tensor values = numbers(Dims{8, 6}, 1);
  int reached = 0, refused = 0;
  for (const Placement& placement : {Placement(Shard(0)), Placement(Shard(1)), Replicate()})
    for (const View& make : views_of_rows())
      for (const InPlace& change : changes_in_place()) {
        DTensor x = distribute_tensor(values, mesh, {placement});
        Tensor whole = values.clone(), view_of_whole = make(whole);
        change(view_of_whole);
        try {
          Tensor view = make(x);
          change(view);
        } catch (const Error& error) {
          bool is_known = false;
          for (const char* phrase : {"the view is a copy, since the dim is cut", "to unbind along"})
            is_known |= error.message().find(phrase) != std::string_view::npos;
          EXPECT_TRUE(is_known) << error.what();
          EXPECT_FALSE(placement.is_replicate());
          ++refused;
          continue;
        }
        EXPECT_SAME_BITS(x.full_tensor(), whole);
        ++reached;
      }
  EXPECT_GT(reached, 100);
  EXPECT_GT(refused, 50);
}

// The gradient must follow a change through a view of pieces, too.
SIMMESH_TEST(Dispatch, ViewsOfPiecesHaveTheGradientsOfOneDevice, {.mesh = {2}, .schedules = 6}) {
  Tensor values = numbers(Dims{8, 6}, 1);
  set_requires_grad(values);
  auto loss_of = [](const Tensor& x) {
    Tensor y = mul(x, 1), column = select(y, 1, 2), before = narrow(y, {1, 1, 3});
    mul_(column, 4);
    neg_(y);
    return add(sum(mul(y, y)), sum(mul(before, 3)));
  };
  backward(loss_of(values));
  DTensor x = distribute_tensor(values.detach(), mesh, {Shard(0)});
  x.set_requires_grad();
  backward(loss_of(x));
  EXPECT_SAME_BITS(x.grad()->full_tensor(), grad_of(values));
}

}  // namespace
}  // namespace simmesh
