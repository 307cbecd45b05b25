#include "sharding/debug/module_comm_counts.h"

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/nn/mlp.h"
#include "core/tensor/formula.h"
#include "sharding/parallel/colwise_parallel.h"
#include "sharding/parallel/parallelize.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

using Counts = ModuleCommCounts::Counts;

// A collective is counted for the wrong module, or for the wrong pass.
SIMMESH_TEST(ModuleCommCounts, CountsByModuleAndPass, {.mesh = {2}, .schedules = 6}) {
  nn::ModulePtr model = nn::make_mlp({.width = 4, .hidden = 6, .out = 2});
  parallelize(*model, mesh, {{"fc1", ColwiseParallel()}, {"fc2", RowwiseParallel()}});
  Tensor x = formula({3, 4}, {.rule = Rule::small, .seed = 1});
  set_requires_grad(x);
  ModuleCommCounts counts(*model);
  Tensor y = (*model)(x);
  all_reduce(y.detach(), ReduceOp::sum, process_group(mesh, 0));
  backward(y, {.gradients = {formula({3, 2}, {.rule = Rule::small, .seed = 2})}});
  EXPECT_EQ(counts.of({"fc2", false, false}), (Counts{{"all_reduce", 1}}));
  EXPECT_EQ(counts.of({"fc1", true, false}), (Counts{{"all_reduce", 1}}));
  EXPECT_EQ(counts.of({}), (Counts{{"all_reduce", 1}}));
  EXPECT_EQ(counts.by_module().size(), 3u) << to_string(counts);
}

}  // namespace
}  // namespace simmesh
