#include "sharding/parallel/distribute_module.h"

#include "core/nn/mlp.h"
#include "tests/sharding/parallel/tensor_parallel.h"

namespace simmesh {
namespace {

using namespace tensor_parallel;

// A frozen parameter begins to learn, or one that is distributed is distributed again.
SIMMESH_TEST(DistributeModule, KeepsWhatParametersAre, {.mesh = {2}, .schedules = 4}) {
  nn::ModulePtr model = nn::make_mlp({.width = 4, .hidden = 6, .out = 2});
  Tensor frozen = model->find("fc2").parameter("bias").detach();
  model->find("fc2").set_parameter("bias", frozen);
  distribute_parameter(model->find("fc1"), "weight", mesh, {Shard(0)});
  replicate_parameters(*model, mesh);
  for (const auto& [name, parameter] : model->named_parameters()) {
    EXPECT_EQ(to_string(DTensor::of(parameter).placements()), name == "fc1.weight" ? "S(0)" : "R");
    EXPECT_EQ(parameter.requires_grad(), name != "fc2.bias");
  }
}

// A tensor that is distributed already is used as a piece.
SIMMESH_TEST(DistributeModule, LaysPlainTensorsOutAndMovesDistributedOnes,
             {.mesh = {2}, .schedules = 4}) {
  Tensor all = numbers({4, 3}, 1);
  DTensor cut = distribute_tensor(all, mesh, {Shard(0)});
  for (const Tensor& tensor : {cut.local(), cut.as_tensor()}) {
    DTensor laid = laid_out(tensor, mesh, {.from = Shard(0), .to = Replicate()});
    EXPECT_EQ(to_string(laid.placements()), "R");
    EXPECT_SAME_BITS(laid.full_tensor(), all);
  }
  EXPECT_SAME_BITS(piece_of(laid_out(cut.local(), mesh, {.from = Shard(0)})), cut.local());
}

}  // namespace
}  // namespace simmesh
