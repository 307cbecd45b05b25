#include "sharding/api/dtensor_clip.h"

#include <limits>

#include "core/autograd/variable.h"
#include "core/optim/clip.h"
#include "core/tensor/formula.h"
#include "core/tensor/scalar_value.h"
#include "mesh/device_mesh.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double norms[] = {1.0, 2.0, 3.0, infinity};

Tensor numbers(std::int64_t rows, std::uint64_t seed) {
  return formula({rows, 3}, {.rule = Rule::wide, .seed = seed});
}

Tensor leaf_with(const Tensor& gradient) {
  Tensor leaf = zeros(gradient.shape(), gradient.dtype());
  set_requires_grad(leaf);
  set_grad(leaf, gradient);
  return leaf;
}

Tensor distributed_leaf(const Tensor& gradient, const DeviceMesh& mesh,
                        const Placements& placements) {
  DTensor leaf = distribute_tensor(zeros(gradient.shape(), gradient.dtype()), mesh, placements);
  leaf.set_requires_grad();
  Tensor result = leaf.as_tensor();
  set_grad(result, distribute_tensor(gradient, mesh, placements).as_tensor());
  return result;
}

Tensor norm_of_one_device(std::initializer_list<Tensor> gradients, double p) {
  std::vector<Tensor> list = gradients;
  return optim::total_norm(list, p);
}

// A "global" norm counts replicas once a rank, leaves out meshes, or counts gradients of one mesh
// as if the other held them, too.
SIMMESH_TEST(Clip, NormOverSeveralMeshesIsThatOfTheWholeGradients,
             {.mesh = {2, 2}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  Tensor a = numbers(5, 1), b = numbers(4, 2), c = numbers(3, 3), d = numbers(1, 4);
  DeviceMesh columns = init_device_mesh({4}, {"all"});
  std::vector<Tensor> parameters = {distributed_leaf(a, mesh, {Shard(0), Shard(1)}),
                                    distributed_leaf(b, mesh, {Replicate(), Shard(0)}),
                                    distributed_leaf(c, columns, {Shard(0)}), leaf_with(d)};
  for (double p : norms)
    EXPECT_SAME_BITS(total_norm(parameters, p), norm_of_one_device({a, b, c, d}, p));
}

// Gradients of experts: those of the other ranks are missing from the norm, or the replicas of data
// parallelism are counted, too, and every rank clips by another norm.
SIMMESH_TEST(Clip, ExpertsBesideDataParallelismCountOnce,
             {.mesh = {2, 2}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  DeviceMesh named = init_device_mesh({2, 2}, {"dp", "ep"});
  ProcessGroup experts = process_group(named, 1);
  std::vector<Tensor> gradients;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) gradients.push_back(numbers(3, seed));
  Tensor shared = numbers(4, 9);
  std::size_t first = std::size_t(experts.rank()) * 2;
  OwnParameters own{{leaf_with(gradients[first]), leaf_with(gradients[first + 1])}, experts};
  std::vector<Tensor> parameters = {leaf_with(shared), own.parameters[0]};
  std::vector<Tensor> all = gradients;
  all.push_back(shared);
  for (double p : norms)
    EXPECT_SAME_BITS(total_norm(parameters, p, {&own, 1}), optim::total_norm(all, p));
  clip_grad_norm_(parameters, {.max_norm = 0.5, .own = {&own, 1}});
  std::vector<Tensor> leaves;
  for (const Tensor& gradient : all) leaves.push_back(leaf_with(gradient));
  optim::clip_grad_norm_(leaves, {.max_norm = 0.5});
  EXPECT_SAME_BITS(grad_of(own.parameters[1]), grad_of(leaves[first + 1]));
  EXPECT_SAME_BITS(grad_of(parameters[0]), grad_of(leaves[4]));
}

// Stages of a pipeline and the experts in them: a stage's parameters count once although all ranks
// of its experts have them, and no stage is missing from the norm of another.
SIMMESH_TEST(Clip, StagesAndTheirExpertsCountOnce,
             {.mesh = {2, 2}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  DeviceMesh named = init_device_mesh({2, 2}, {"pp", "ep"});
  ProcessGroup stages = process_group(named, "pp"), experts = ProcessGroup::world();
  std::vector<Tensor> all;
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    all.push_back(numbers(std::int64_t(seed % 3) + 1, seed));
  // Two stages, and the experts of each rank.
  std::size_t stage = std::size_t(stages.rank()), expert = 2 + std::size_t(experts.rank());
  std::vector<OwnParameters> own = {{{leaf_with(all[stage])}, stages},
                                    {{leaf_with(all[expert])}, experts}};
  for (double p : norms) EXPECT_SAME_BITS(total_norm({}, p, own), optim::total_norm(all, p));
  clip_grad_norm_({}, {.max_norm = 0.5, .own = own});
  std::vector<Tensor> leaves;
  for (const Tensor& gradient : all) leaves.push_back(leaf_with(gradient));
  optim::clip_grad_norm_(leaves, {.max_norm = 0.5});
  EXPECT_SAME_BITS(grad_of(own[0].parameters[0]), grad_of(leaves[stage]));
  EXPECT_SAME_BITS(grad_of(own[1].parameters[0]), grad_of(leaves[expert]));
}

// Experts that FSDP shards besides: the norm is one per EP group, or counts shards as if the ranks
// of an EP group shared them. The last EP rank has fewer experts, or none.
SIMMESH_TEST(Clip, ShardedExpertsCountOnce,
             {.mesh = {2, 2}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  DeviceMesh named = init_device_mesh({2, 2}, {"dp", "ep"});
  ProcessGroup owners = process_group(named, "ep");
  Tensor shared = numbers(3, 9);
  for (std::size_t of_last : {1U, 0U}) {
    std::vector<Tensor> gradients = {numbers(5, 1), numbers(1, 2)};
    for (std::size_t i = 0; i < of_last; ++i) gradients.push_back(numbers(2, 3));
    std::size_t first = owners.rank() == 0 ? 0 : 2;
    std::size_t last = owners.rank() == 0 ? 2 : 2 + of_last;
    OwnParameters own{{}, owners};
    for (std::size_t i = first; i < last; ++i)
      own.parameters.push_back(distributed_leaf(gradients[i], named["dp"], {Shard(0)}));
    std::vector<Tensor> parameters = own.parameters;
    parameters.push_back(distributed_leaf(shared, mesh, {Replicate(), Shard(0)}));
    gradients.push_back(shared);
    for (double p : norms) {
      EXPECT_SAME_BITS(total_norm(parameters, p, {&own, 1}), optim::total_norm(gradients, p));
      bool has_all = owners.rank() == 0 && of_last == 0;
      double of_group = scalar_value(total_norm(parameters, p));
      if (!has_all && p < infinity) {
        EXPECT_LT(of_group, scalar_value(optim::total_norm(gradients, p)));
      }
    }
    clip_grad_norm_(parameters, {.max_norm = 0.5, .own = {&own, 1}});
    std::vector<Tensor> leaves;
    for (const Tensor& gradient : gradients) leaves.push_back(leaf_with(gradient));
    optim::clip_grad_norm_(leaves, {.max_norm = 0.5});
    for (std::size_t i = first; i < last; ++i)
      EXPECT_SAME_BITS(DTensor::of(grad_of(own.parameters[i - first])).full_tensor(),
                       grad_of(leaves[i]));
  }
}

// An expert without tokens has no gradient on one rank, which then leaves the others waiting.
SIMMESH_TEST(Clip, RanksWithoutGradientsTakePart, {.mesh = {3}, .schedules = 20}) {
  ProcessGroup group = process_group(mesh, 0);
  Tensor parameter = zeros({3, 3}, DType::float32);
  set_requires_grad(parameter);
  if (group.rank() == 1) set_grad(parameter, numbers(3, 1));
  OwnParameters own{{parameter}, group};
  EXPECT_SAME_BITS(total_norm({}, 2.0, {&own, 1}), norm_of_one_device({numbers(3, 1)}, 2.0));
}

// A tied parameter counts twice, a partial gradient by its parts, an empty shard as NaN.
SIMMESH_TEST(Clip, TiedPartialAndEmptyGradients,
             {.mesh = {4}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  Tensor a = numbers(2, 1), part = numbers(3, 2);
  Tensor tied = distributed_leaf(a, mesh, {Shard(0)});
  DTensor leaf = distribute_tensor(zeros({3, 3}, DType::float32), mesh, {Replicate()});
  leaf.set_requires_grad();
  Tensor partial = leaf.as_tensor();
  set_grad(partial, from_local(part, mesh, {Partial(ReduceOp::avg)}).as_tensor());
  std::vector<Tensor> parameters = {tied, partial, tied};
  for (double p : norms)
    EXPECT_SAME_BITS(total_norm(parameters, p), norm_of_one_device({a, part}, p));
  testing::expect_error([&] { total_norm(parameters, 0.0); }, ErrorKind::value_error,
                        "expected a norm above 0, got 0");
}

}  // namespace
}  // namespace simmesh
