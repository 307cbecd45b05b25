#pragma once

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"
#include "mesh/device_mesh.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/sharding/small_worlds.h"

// The oracle of sharding strategies: an op on distributed tensors has the results and gradients of
// the op on whole ones, bit for bit, whatever the placements of its inputs.
namespace simmesh::whole_tensor_oracle {

// Input is one tensor of a call, and the placements that are tried for it on each mesh dim.
struct Input {
  Shape shape;
  Placements alphabet = {};
  Formula data = {.rule = Rule::small};
  bool requires_grad = true;
};

// Call is a function of tensors. Its first output is differentiated, where `has_gradient`.
struct Call {
  std::string name;
  std::vector<Input> inputs;
  std::function<std::vector<Tensor>(gsl::span<const Tensor>)> function;
  bool has_gradient = true;
};

using Outputs = std::vector<Tensor>;

// of_one is a call of a function of one tensor.
inline Call of_one(const char* name, const Input& x,
                   const std::function<Outputs(const Tensor&)>& function,
                   bool has_gradient = true) {
  return {
      name, {x}, [function](gsl::span<const Tensor> in) { return function(in[0]); }, has_gradient};
}

inline const Placement partial_sum = Partial(ReduceOp::sum),
                       partial_average = Partial(ReduceOp::avg);
inline const Placement partial_max = Partial(ReduceOp::max), partial_min = Partial(ReduceOp::min);

// Worlds are the worlds in which a call is tried.
struct Worlds {
  std::vector<Shape> meshes = {{2}, {3}, {2, 2}};
  std::vector<const char*> schedules = {"fifo", "seeded:1", "pct:3"};
  Arithmetic arithmetic = Arithmetic::canonical();
};

// Returns a part of a partial tensor: the operand of the coordinate along a mesh dim of so many
// ranks.
inline Tensor partial_part(const Tensor& whole, const Placement& placement, std::int64_t index,
                           std::int64_t count) {
  bool is_first = index == 0, is_last = index == count - 1;
  switch (placement.reduce_op()) {
    case ReduceOp::sum:
      return is_first ? sub(whole, 3 * (count - 1)) : full(whole.shape(), whole.dtype(), 3);
    case ReduceOp::avg: return count == 1 ? whole : add(whole, is_first ? 4 : is_last ? -4 : 0);
    case ReduceOp::max: return is_last ? whole : sub(whole, 5);
    case ReduceOp::min: return is_first ? whole : add(whole, 5);
    default: return is_first ? whole : full(whole.shape(), whole.dtype(), 1);  // a product
  }
}

// distributed brings a tensor that every rank holds to placements that may be partial.
inline DTensor distributed(const Tensor& whole, const DeviceMesh& mesh,
                           const Placements& placements) {
  Placements settled = placements;
  for (Placement& one : settled)
    if (one.is_partial()) one = Replicate();
  DTensor cut = distribute_tensor(whole, mesh, settled, {.from_first_rank = false});
  Tensor piece = cut.local();
  for (std::size_t dim = 0; dim < placements.size(); ++dim)
    if (placements[dim].is_partial())
      piece =
          partial_part(piece, placements[dim], (*mesh.get_coordinate())[dim], mesh.shape()[dim]);
  DTensorSpec spec = cut.spec();
  spec.sharding.placements = placements;
  return DTensor(spec, piece);
}

// settled turns a negative zero into a positive one: sums of zeros have either.
inline Tensor settled(const Tensor& x) { return is_floating_point(x.dtype()) ? add(x, 0.0) : x; }

// Trial is one choice of placements for all inputs.
class Trial {
 public:
  Trial(const Call& call, const DeviceMesh& mesh, gsl::span<const Placements* const> placements)
      : call_(call), mesh_(mesh), placements_(placements.begin(), placements.end()) {}

  void run() const {
    std::vector<Tensor> wholes, pieces;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const Input& input = call_.inputs[i];
      Formula data = input.data;
      data.seed += i + 1;
      Tensor whole = formula(input.shape, data);
      DTensor piece = distributed(whole, mesh_, *placements_[i]);
      bool wants = call_.has_gradient && input.requires_grad && is_floating_point(whole.dtype());
      if (wants) {
        set_requires_grad(whole);
        piece.set_requires_grad();
      }
      wholes.push_back(whole);
      pieces.push_back(piece.as_tensor());
    }
    std::vector<Tensor> expected = call_.function(wholes), came = call_.function(pieces);
    ASSERT_EQ(expected.size(), came.size()) << text();
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_same(expected[i].detach(), came[i].detach(), fmt::format("output {}", i));
    if (call_.has_gradient) compare_gradients(wholes, pieces, expected[0], came[0]);
  }

  std::string text() const {
    std::string result =
        fmt::format("{} on mesh {}:", call_.name, to_string(DimSpan(mesh_.shape())));
    for (std::size_t i = 0; i < placements_.size(); ++i)
      result += fmt::format(" {}({})", to_string(DimSpan(call_.inputs[i].shape)),
                            to_string(*placements_[i]));
    return result;
  }

 private:
  void compare_gradients(gsl::span<const Tensor> wholes, gsl::span<const Tensor> pieces,
                         const Tensor& expected, const Tensor& came) const {
    if (!expected.requires_grad()) return;
    Tensor gradient =
        formula(expected.shape(),
                {.rule = call_.inputs[0].data.rule, .seed = 77, .dtype = expected.dtype()});
    backward(expected, {.gradients = {gradient}});
    Placements whole(mesh_.shape().size(), Replicate());
    backward(came, {.gradients = {distributed(gradient, mesh_, whole).as_tensor()}});
    for (std::size_t i = 0; i < wholes.size(); ++i)
      if (wholes[i].requires_grad())
        expect_same(grad_of(wholes[i]), grad_of(pieces[i]), fmt::format("gradient of input {}", i));
  }

  void expect_same(const Tensor& expected, const Tensor& came, const std::string& what) const {
    ASSERT_EQ(expected.is_defined(), came.is_defined()) << text() << " " << what;
    if (!expected.is_defined()) return;
    Tensor whole = DTensor::of(came).full_tensor();
    EXPECT_TRUE(same_bits(settled(expected), settled(whole)))
        << text() << " " << what << " came as " << to_string(DTensor::of(came).spec())
        << "\nexpected " << to_string(expected) << "\ngot " << to_string(whole);
  }

  const Call& call_;
  const DeviceMesh& mesh_;
  std::vector<const Placements*> placements_;
};

// mixes_reductions is true if a list holds reductions that no tensor has at once.
inline bool mixes_reductions(const Placements& list) {
  auto family = [](const Placement& one) {
    return one.reduce_op() == ReduceOp::avg ? ReduceOp::sum : one.reduce_op();
  };
  const Placement* first = nullptr;
  for (const Placement& one : list) {
    if (!one.is_partial()) continue;
    if (first && family(*first) != family(one)) return true;
    first = &one;
  }
  return false;
}

// try_all_placements runs a call for every combination of placements of its inputs.
inline void try_all_placements(const Call& call, const DeviceMesh& mesh) {
  std::vector<std::vector<Placements>> lists;
  for (const Input& input : call.inputs)
    lists.push_back(small_worlds::lists(mesh.shape().size(), input.alphabet));
  for (std::vector<Placements>& list : lists)
    list.erase(std::remove_if(list.begin(), list.end(), mixes_reductions), list.end());
  std::vector<std::size_t> choice(lists.size(), 0);
  for (bool is_done = false; !is_done && !::testing::Test::HasFailure();) {
    std::vector<const Placements*> placements;
    for (std::size_t i = 0; i < lists.size(); ++i) placements.push_back(&lists[i][choice[i]]);
    Trial trial(call, mesh, placements);
    try {
      trial.run();
    } catch (const std::exception& error) {
      ADD_FAILURE() << trial.text() << " raised " << error.what();
    }
    std::size_t next = 0;
    while (next < choice.size() && ++choice[next] == lists[next].size()) choice[next++] = 0;
    is_done = next == choice.size();
  }
}

// expect_whole_bits tries a call in every world.
inline void expect_whole_bits(const Call& call, const Worlds& worlds = {}) {
  for (const Shape& shape : worlds.meshes)
    for (const char* schedule : worlds.schedules) {
      if (::testing::Test::HasFailure()) return;
      World world({.ranks = std::size_t(numel(shape)),
                   .schedule = Schedule::parse(schedule),
                   .arithmetic = worlds.arithmetic});
      Outcome outcome = world.run([&](Rank&) {
        DeviceMesh mesh = shape.size() == 1 ? init_device_mesh(shape, {"a"})
                                            : init_device_mesh(shape, {"a", "b"});
        try_all_placements(call, mesh);
      });
      EXPECT_TRUE(outcome.ok()) << call.name << ": " << report(outcome);
      EXPECT_EQ(outcome.live_storages, 0) << call.name;
    }
}

// shards_and is R, the shards of so many dims, and what else is given.
inline Placements shards_and(std::int64_t dims, std::initializer_list<Placement> others = {}) {
  Placements result = {Replicate()};
  for (std::int64_t dim = 0; dim < dims; ++dim) result.push_back(Shard(dim));
  result.insert(result.end(), others.begin(), others.end());
  return result;
}

}  // namespace simmesh::whole_tensor_oracle
