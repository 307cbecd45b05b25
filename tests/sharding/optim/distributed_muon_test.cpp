#include "sharding/optim/distributed_muon.h"

#include "core/autograd/variable.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

Tensor muon_values(const Shape& shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::unit, .seed = seed});
}

void expect_muon_of_one_device(const Shape& shape, const DeviceMesh& mesh,
                               const Placements& placements) {
  Tensor whole = muon_values(shape, 1);
  set_requires_grad(whole);
  Tensor parameter = distribute_tensor(muon_values(shape, 1), mesh, placements).as_tensor();
  set_requires_grad(parameter);
  optim::TorchMuon one({whole}, {.lr = 0.5});
  DistributedMuon muon({parameter}, {.lr = 0.5});
  for (std::uint64_t step = 2; step <= 3; ++step) {
    set_grad(whole, muon_values(shape, step));
    set_grad(parameter, distribute_tensor(muon_values(shape, step), mesh, placements).as_tensor());
    one.step();
    muon.step();
  }
  DTensor after = DTensor::of(parameter.detach());
  if (after.placements() != placements) throw std::runtime_error("placements changed");
  EXPECT_SAME_BITS(after.full_tensor(), whole.detach());
  EXPECT_SAME_BITS(after.with_local(muon.state(0).at("momentum_buffer")).full_tensor(),
                   one.state(0).at("momentum_buffer"));
}

// If this fails, a sum of a product is rounded before the parts of all ranks are in it, a piece is
// moved by another piece's direction, or a rank without elements stops the step.
struct MuonLayouts : ::testing::TestWithParam<Shape> {};
SIMMESH_TEST_P(MuonLayouts, ExactStepsAreThoseOfOneDevice,
               {.mesh = GetParam(), .schedules = 2, .arithmetic = Arithmetic::exact()}) {
  const Placement each[] = {Replicate(), Shard(0), Shard(1)};
  for (const Shape& shape : {Shape{5, 3}, Shape{2, 6}, Shape{1, 4}, Shape{4, 4}})
    for (const Placement& first : each)
      for (const Placement& second : each) {
        Placements placements = {first, second};
        placements.resize(std::size_t(mesh.ndim()), Replicate());
        expect_muon_of_one_device(shape, mesh, placements);
      }
}
INSTANTIATE_TEST_SUITE_P(Meshes, MuonLayouts, ::testing::Values(Shape{2}, Shape{3}, Shape{2, 2}));

}  // namespace
}  // namespace simmesh
