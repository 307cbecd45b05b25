#include "sharding/optim/owned_steps.h"

#include "core/autograd/variable.h"
#include "core/optim/adafactor.h"
#include "core/optim/lamb.h"
#include "core/optim/matrix/shampoo.h"
#include "core/optim/matrix/torch_muon.h"
#include "core/optim/muon.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

constexpr int owned_steps = 3;

// Shapes that cut unevenly and leave ranks empty, a vector and a matrix without elements.
const std::vector<Shape> owned_shapes = {{5, 3}, {2, 6}, {1, 4}, {4, 4}, {3}, {0, 2}};

Tensor values_of(std::size_t parameter, int step) {
  return formula(owned_shapes[parameter],
                 {.rule = Rule::unit, .seed = parameter * 100 + std::uint64_t(step)});
}

// A parameter has no gradient in some steps, so owners and step counts differ.
bool has_gradient(std::size_t parameter, int step) {
  return (parameter + std::size_t(step)) % 4 != 1;
}

using MakeOptimizer =
    std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Tensor>& parameters)>;

std::vector<std::pair<const char*, MakeOptimizer>> whole_optimizers() {
  auto muon_groups = [](auto groups, const std::vector<Tensor>& parameters, auto adam) {
    for (const Tensor& parameter : parameters)
      groups.push_back({{parameter}, parameter.dim() == 2 ? decltype(adam){.lr = 0.5} : adam});
    return groups;
  };
  return {{"torch muon",
           [=](const std::vector<Tensor>& parameters) {
             optim::TorchMuonOptions adam{.adam = optim::AdamOptions()};
             return std::make_unique<optim::TorchMuon>(
                 muon_groups(std::vector<optim::TorchMuon::Group>(), parameters, adam));
           }},
          {"muon",
           [=](const std::vector<Tensor>& parameters) {
             optim::MuonOptions adam{.adam = optim::AdamOptions()};
             return std::make_unique<optim::Muon>(
                 muon_groups(std::vector<optim::Muon::Group>(), parameters, adam));
           }},
          {"adafactor",
           [](const std::vector<Tensor>& parameters) {
             return std::make_unique<optim::Adafactor>(parameters);
           }},
          {"shampoo",
           [](const std::vector<Tensor>& parameters) {
             return std::make_unique<optim::Shampoo>(parameters, optim::ShampooOptions{.every = 2});
           }},
          {"lamb", [](const std::vector<Tensor>& parameters) {
             return std::make_unique<optim::Lamb>(parameters);
           }}};
}

// OneDevice is the run that every layout must equal.
struct OneDevice {
  std::vector<Tensor> parameters;
  std::unique_ptr<optim::Optimizer> optimizer;

  explicit OneDevice(const MakeOptimizer& make) {
    for (std::size_t i = 0; i < owned_shapes.size(); ++i) {
      parameters.push_back(values_of(i, 90));
      set_requires_grad(parameters.back());
    }
    optimizer = make(parameters);
  }

  void step(int step) {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      set_grad(parameters[i], has_gradient(i, step) ? values_of(i, step) : Tensor());
    optimizer->step();
  }
};

// Placements for a parameter on a mesh: shards of dims that it has.
Placements fitting(Placements placements, const Shape& shape) {
  for (Placement& placement : placements)
    if (placement.splits() && placement.dim() >= std::int64_t(shape.size())) placement = Shard(0);
  return placements;
}

void expect_owned_run(const DeviceMesh& mesh, const Placements& placements,
                      const MakeOptimizer& make, const OwnedOptions& options) {
  OneDevice one(make);
  std::vector<Tensor> parameters;
  auto distributed = [&](std::size_t i, const Tensor& whole) {
    return distribute_tensor(whole, mesh, fitting(placements, owned_shapes[i]),
                             {.from_first_rank = false})
        .as_tensor();
  };
  for (std::size_t i = 0; i < owned_shapes.size(); ++i) {
    parameters.push_back(distributed(i, values_of(i, 90)));
    set_requires_grad(parameters.back());
  }
  std::unique_ptr<optim::Optimizer> optimizer = make(parameters);
  OwnedSteps owned(*optimizer, options);
  for (int step = 0; step < owned_steps; ++step) {
    one.step(step);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      set_grad(parameters[i],
               has_gradient(i, step) ? distributed(i, values_of(i, step)) : Tensor());
    owned.step();
    if (step == 1) owned.settle_state();
  }
  owned.settle_state();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    DTensor after = DTensor::of(parameters[i].detach());
    EXPECT_SAME_BITS(after.full_tensor(), one.parameters[i].detach());
    if (one.optimizer->steps(i) != optimizer->steps(i)) throw std::runtime_error("steps differ");
    for (const auto& [name, wanted] : one.optimizer->state(i)) {
      Tensor state = optimizer->state(i).at(name);
      if (optimizer->is_state_like_parameter(i, name))
        state = after.with_local(state).full_tensor();
      EXPECT_SAME_BITS(state, wanted);
    }
  }
}

// If this fails, a matrix is put together from wrong pieces, a replica is taken twice, state stays
// behind when an owner changes, or an empty piece is lost: parameters and state differ from those
// of one device.
struct OwnedLayouts : ::testing::TestWithParam<Shape> {};
SIMMESH_TEST_P(OwnedLayouts, StepsAreThoseOfOneDevice, {.mesh = GetParam(), .schedules = 2}) {
  std::vector<Placement> each = {Replicate(), Shard(0), Shard(1)};
  std::vector<Placements> layouts = {{}};
  for (std::int64_t dim = 0; dim < mesh.ndim(); ++dim) {
    std::vector<Placements> longer;
    for (const Placements& known : layouts)
      for (const Placement& placement : each) {
        longer.push_back(known);
        longer.back().push_back(placement);
      }
    layouts = std::move(longer);
  }
  for (const Placements& placements : layouts)
    for (const auto& [name, make] : whole_optimizers())
      for (OwnerRule rule : {OwnerRule::round_robin, OwnerRule::by_size})
        for (StateLayout state : {StateLayout::pieces, StateLayout::owners})
          expect_owned_run(mesh, placements, make, {.rule = rule, .state = state});
}
INSTANTIATE_TEST_SUITE_P(Meshes, OwnedLayouts,
                         ::testing::Values(Shape{1}, Shape{2}, Shape{3}, Shape{4}, Shape{2, 2},
                                           Shape{3, 2}));

// If this fails, the layout of strided shards, as fully_shard over tensor parallelism makes it, is
// read as one of plain shards.
SIMMESH_TEST(OwnedSteps, StridedShardsAreThoseOfOneDevice, {.mesh = {2, 2}, .schedules = 3}) {
  for (const auto& [name, make] : whole_optimizers())
    expect_owned_run(mesh, {StridedShard(0, 2), Shard(0)}, make, {});
}

// If this fails, the step of a block depends on how the matrix is cut over ranks.
SIMMESH_TEST(OwnedSteps, BlocksAreStepsOfTheirOwn, {.mesh = {2, 2}, .schedules = 3}) {
  Tensor value = values_of(0, 90), gradient = values_of(0, 0);
  Tensor wanted = value.clone();
  for (std::int64_t row : {0, 2, 4}) {
    Tensor block = value.narrow({0, row, std::min<std::int64_t>(2, 5 - row)}).clone();
    set_requires_grad(block);
    set_grad(block, gradient.narrow({0, row, block.size(0)}).clone());
    optim::TorchMuon muon({block});
    muon.step();
    Tensor part = wanted.narrow({0, row, block.size(0)});
    copy_(part, block.detach());
  }
  for (const Placements& placements :
       {Placements{Shard(0), Shard(1)}, Placements{Shard(1), Replicate()},
        Placements{Replicate(), Replicate()}}) {
    Tensor parameter = distribute_tensor(value, mesh, placements).as_tensor();
    set_requires_grad(parameter);
    set_grad(parameter, distribute_tensor(gradient, mesh, placements).as_tensor());
    optim::TorchMuon muon({parameter});
    OwnedSteps owned(muon, {.block = {2, 0}});
    owned.step();
    EXPECT_SAME_BITS(DTensor::of(parameter.detach()).full_tensor(), wanted);
    if (owned.last_step().size() != 3) throw std::runtime_error("expected three blocks");
    if (!grad_of(parameter).is_defined()) throw std::runtime_error("expected the gradient to stay");
  }
}

// If this fails, blocks of an optimiser with state for whole rows are computed from wrong rows.
TEST(OwnedSteps, RefusesBlocksBesideStateOfWholeRows) {
  Tensor parameter = zeros({2, 2}, DType::float32);
  set_requires_grad(parameter);
  optim::Adafactor adafactor({parameter});
  testing::expect_error(
      [&] {
        OwnedSteps(adafactor, {.block = {1, 1}});
      },
      ErrorKind::value_error, "expected state like the parameter beside blocks, got col_var");
}

}  // namespace
}  // namespace simmesh
