#include "sharding/parallel/parallelize.h"

#include "core/nn/containers.h"
#include "core/nn/mlp.h"
#include "sharding/parallel/colwise_parallel.h"
#include "tests/expect_error.h"
#include "tests/sharding/parallel/tensor_parallel.h"

namespace simmesh {
namespace {

nn::ModulePtr two_blocks() {
  nn::MlpOptions options{.width = 4, .hidden = 4, .out = 4};
  return std::make_shared<nn::Sequential>(std::vector<nn::NamedModule>{
      {"block0", nn::make_mlp(options)}, {"block1", nn::make_mlp(options)}});
}

// A path with a star reaches one module only, or modules that it doesn't name.
SIMMESH_TEST(Parallelize, PathsNameModulesAsFilesAreNamed, {.mesh = {2}, .schedules = 2}) {
  nn::ModulePtr model = two_blocks();
  EXPECT_EQ(modules_at(*model, "block*.fc1").size(), 2u);
  EXPECT_EQ(modules_at(*model, "block[1].*").size(), 3u);
  EXPECT_EQ(modules_at(*model, "").front(), model.get());
  parallelize(*model, mesh, {{"block?.fc1", ColwiseParallel()}});
  for (const char* path : {"block0.fc1", "block1.fc1"})
    EXPECT_TRUE(model->find(path).parameter("weight").distribution() != nullptr);
  EXPECT_TRUE(model->find("block0.fc2").parameter("weight").distribution() == nullptr);
}

// A plan with a misspelt path spreads half of a model.
SIMMESH_TEST(Parallelize, RefusesPathsWithoutModulesAndMeshesOfMoreDims,
             {.mesh = {2, 2}, .schedules = 2}) {
  nn::ModulePtr model = two_blocks();
  ParallelizePlan plan = {{"block0.fc1", ColwiseParallel()}, {"block0.fc3", ColwiseParallel()}};
  DeviceMesh columns = init_device_mesh({4}, {"tp"});
  testing::expect_error(
      [&] { parallelize(*model, columns, plan); }, ErrorKind::value_error,
      "the plan names 'block0.fc3', and there is no such module; there are: block0");
  EXPECT_TRUE(model->find("block0.fc1").parameter("weight").distribution() == nullptr);
  testing::expect_error([&] { parallelize(*model, mesh, plan); }, ErrorKind::value_error,
                        "expected a mesh of one dim");
}

}  // namespace
}  // namespace simmesh
