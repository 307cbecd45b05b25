#include "sharding/api/dtensor_gradient.h"

#include <gtest/gtest.h>

#include "collectives/process_group.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/registry/registry.h"
#include "core/tensor/formula.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

const Shape logical = {5, 3};

std::vector<Placements> lists_of(std::size_t dims) {
  std::vector<Placement> each{Replicate(), Shard(0), Shard(1), Partial(ReduceOp::sum),
                              Partial(ReduceOp::avg)};
  std::vector<Placements> lists{{}};
  for (std::size_t dim = 0; dim < dims; ++dim) {
    std::vector<Placements> longer;
    for (const Placements& list : lists)
      for (const Placement& placement : each) {
        longer.push_back(list);
        longer.back().push_back(placement);
      }
    lists = std::move(longer);
  }
  return lists;
}

Tensor piece_of(const Tensor& whole, const DeviceMesh& mesh, const Placements& placements) {
  return distribute_tensor(whole, mesh, placements, {.from_first_rank = false}).local();
}

// A gradient that is whole on the way in is, at the leaf, its piece of the same logical gradient:
// no factor of the mesh's size may slip in, whatever the partial sums and averages.
void check_all(const Shape& mesh_shape) {
  std::size_t ranks = std::size_t(numel(mesh_shape));
  Tensor gradient = formula(logical, {.seed = 11});
  run_every_schedule(ranks, [&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh(mesh_shape);
    for (const Placements& from : lists_of(mesh_shape.size())) {
      Placements settled = without_partial(from);
      Tensor leaf = piece_of(formula(logical, {.seed = 5}), mesh, settled);
      set_requires_grad(leaf);
      DTensor x = from_local(leaf, mesh, from, {.shape = logical});
      backward(x.full_tensor(), {.gradients = {gradient}});
      rank.expect_same_bits(grad_of(leaf), piece_of(gradient, mesh, settled));
      for (const Placements& to : lists_of(mesh_shape.size())) {
        if (to != without_partial(to)) continue;
        set_grad(leaf, Tensor());
        DTensor again = from_local(leaf, mesh, from, {.shape = logical});
        backward(again.redistribute(to).to_local(), {.gradients = {piece_of(gradient, mesh, to)}});
        rank.expect_same_bits(grad_of(leaf), piece_of(gradient, mesh, settled));
      }
    }
  });
}

TEST(DTensorGradient, IsThePieceOfTheLogicalOne) {
  for (const Shape& mesh_shape : {Shape{1}, Shape{2}, Shape{3}}) check_all(mesh_shape);
}

TEST(DTensorGradient, IsThePieceOfTheLogicalOneOnTwoDims) { check_all({2, 2}); }

// A partial gradient is reduced at from_local, and stays partial at a tensor of the same reduction.
TEST(DTensorGradient, MayBePartial) {
  Tensor gradient = full({2}, DType::float32, 1);
  run_every_schedule(2, [&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2});
    Placements partial{Partial(ReduceOp::sum)}, average{Partial(ReduceOp::avg)};
    Tensor leaf = zeros({2}, DType::float32);
    set_requires_grad(leaf);
    backward(from_local(leaf, mesh, partial).full_tensor({.grad_placements = partial}),
             {.gradients = {gradient}});
    rank.expect_same_bits(grad_of(leaf), full({2}, DType::float32, 2));
    DTensor x = from_local(leaf.detach(), mesh, partial);
    x.set_requires_grad();
    backward(x.full_tensor({.grad_placements = partial}), {.gradients = {gradient}});
    EXPECT_EQ(x.grad()->placements(), partial);
    rank.expect_same_bits(x.grad()->local(), gradient);
    // PyTorch refuses this one in the middle of the pass; the value is defined.
    DTensor y = from_local(leaf.detach(), mesh, average);
    y.set_requires_grad();
    backward(y.full_tensor({.grad_placements = partial}), {.gradients = {gradient}});
    EXPECT_EQ(y.grad()->placements(), Placements{Replicate()});
    rank.expect_same_bits(y.grad()->local(), full({2}, DType::float32, 2));
  });
}

TEST(DTensorGradient, AccumulatesInADistributedLeaf) {
  Tensor whole = formula({4}, {.rule = Rule::small, .seed = 3});
  run_every_schedule(2, [&](Rank& rank) {
    DTensor x = distribute_tensor(whole, init_device_mesh({2}), {Shard(0)});
    x.set_requires_grad();
    for (int pass = 0; pass < 2; ++pass) backward(x.full_tensor(), {.gradients = {whole}});
    rank.expect_same_bits(x.grad()->full_tensor(), add(whole, whole));
  });
}

TEST(DTensorGradient, OpsWithoutAShardingRuleAreRefused) {
  run_every_schedule(1, [&](Rank&) {
    DTensor x = distribute_tensor(formula({4}, {.seed = 3}), init_device_mesh({1}), {Shard(0)});
    Op own = *find_op("exp");
    EXPECT_THROW(call_one(own, {x.as_tensor()}), Error);
    expect_error([&] { add(x.as_tensor(), formula({4}, {.seed = 3})); }, ErrorKind::runtime_error);
    EXPECT_THROW(DTensor::of(zeros({1}, DType::float32)), Error);
    EXPECT_EQ(DTensor::of(x.as_tensor()).placements(), x.placements());
  });
}

TEST(DTensorGradient, DistributedTensorsOfLeavesAreLeaves) {
  run_every_schedule(2, [&](Rank&) {
    Tensor whole = formula({4}, {.seed = 3});
    set_requires_grad(whole);
    DTensor x = distribute_tensor(whole, init_device_mesh({2}), {Shard(0)});
    EXPECT_TRUE(x.requires_grad());
    backward(x.to_local(), {.gradients = {zeros({2}, DType::float32)}});
    EXPECT_TRUE(x.grad().has_value());
    EXPECT_FALSE(grad_of(whole).is_defined());
  });
}

}  // namespace
}  // namespace simmesh
