#include "fsdp/param/partial_sums.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/fsdp/sharded_worlds.h"

// Without the all-reduce of its replicas a group keeps sums, which later micro-batches add to. They
// belong to parameters: a and b of equal shapes must not meet, in whatever micro-batch each is
// used.
namespace simmesh::fsdp {
namespace {

constexpr std::int64_t replicas = 2, shards = 2;
// Which of a and b a micro-batch uses, in turn.
using Uses = std::vector<std::vector<std::size_t>>;

// Two linear layers of the same input, whose outputs are a and b. No dim divides by the ranks.
nn::ModulePtr fan_of_ab() {
  TrainingModel model;
  model.node = {"", "fan", {}, {}};
  for (std::string name : {"a", "b"}) {
    model.node.children.push_back(
        {name, "linear", {{"in", std::int64_t(3)}, {"out", std::int64_t(5)}}, {}});
    model.parameters.push_back({name + ".weight", {5, 3}, {.rule = Rule::small, .seed = 1}});
    model.parameters.push_back({name + ".bias", {5}, {.rule = Rule::small, .seed = 2}});
  }
  return build_model(model);
}

// Small integers, so that no sum and no mean over four ranks rounds.
Tensor rows_of(std::int64_t rank, std::size_t micro_batch) {
  return formula({2, 3},
                 {.rule = Rule::small, .seed = 7 + 10 * std::uint64_t(rank) + 100 * micro_batch});
}

void run_backward(nn::Module& model, const Tensor& rows, const std::vector<std::size_t>& uses) {
  nn::Tensors outputs = model.call({rows}), losses;
  for (std::size_t index : uses) losses.push_back(sum(outputs[index]));
  backward(losses);
}

// The gradients of one device, which gets the rows of all ranks.
std::vector<Tensor> one_device_gradients(const Uses& uses) {
  nn::ModulePtr model = fan_of_ab();
  for (std::size_t i = 0; i < uses.size(); ++i)
    for (std::int64_t rank = 0; rank < replicas * shards; ++rank)
      run_backward(*model, rows_of(rank, i), uses[i]);
  std::vector<Tensor> means;
  for (const Tensor& parameter : model->parameters())
    means.push_back(grad_of(parameter).is_defined()
                        ? div(grad_of(parameter), double(replicas * shards))
                        : Tensor());
  return means;
}

// The sizes of all reduce-scatters and all-reduces, in parameters: those of a layer have the padded
// numel of a weight and a bias.
struct Reduced {
  std::vector<std::int64_t> scattered, all_reduced;

  void see(const Event& event) {
    constexpr std::int64_t layer = 3 * 3 + 3;
    if (event.kind == EventKind::reduce_scatter) scattered.push_back(event.output_numel / layer);
    if (event.kind == EventKind::all_reduce) all_reduced.push_back(event.input.numel() / layer);
  }
};

Reduced expect_bits_of_one_device(const DeviceMesh& mesh, const Uses& uses, bool apart) {
  nn::ModulePtr model = fan_of_ab();
  if (apart)
    for (const char* name : {"a", "b"}) fully_shard(model->child(name), {.mesh = mesh});
  fully_shard(*model, {.mesh = mesh});
  Reduced reduced;
  ObserverScope observer([&](const Event& event) { reduced.see(event); });
  for (std::size_t i = 0; i < uses.size(); ++i) {
    bool is_last = i + 1 == uses.size();
    FSDPModule(*model).set_requires_all_reduce(is_last);
    FSDPModule(*model).set_is_last_backward(is_last);
    run_backward(*model, rows_of(mesh.get_rank(), i), uses[i]);
  }
  std::vector<Tensor> expected = one_device_gradients(uses), parameters = model->parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Tensor gradient = grad_of(parameters[i]);
    expect(gradient.is_defined() == expected[i].is_defined(),
           "a gradient where one device has one");
    if (gradient.is_defined()) EXPECT_SAME_BITS(DTensor::of(gradient).full_tensor(), expected[i]);
  }
  return reduced;
}

// The buffers of a and of b have one size: added by position, each would get the other's gradient.
SIMMESH_TEST(PartialSums, BelongToParameters,
             {.mesh = {replicas, shards}, .names = {"replicate", "shard"}}) {
  Reduced reduced = expect_bits_of_one_device(mesh, {{0}, {1}}, false);
  expect(reduced.scattered == std::vector<std::int64_t>{1, 2}, "a, then a as zeros and b");
  expect(reduced.all_reduced == std::vector<std::int64_t>{2}, "an all-reduce of both");
}

// Whatever is used when: fewer, more, or the same parameters than before, in one group or in two.
SIMMESH_TEST(PartialSums, HaveTheBitsOfOneDevice,
             {.mesh = {replicas, shards}, .names = {"replicate", "shard"}}) {
  const std::vector<std::vector<std::size_t>> choices = {{0}, {1}, {0, 1}};
  for (const auto& first : choices)
    for (const auto& second : choices)
      for (const auto& third : choices)
        for (bool apart : {false, true})
          expect_bits_of_one_device(mesh, {first, second, third}, apart);
}

// A group that has no gradient at all in the micro-batch that all-reduces has one of before.
SIMMESH_TEST(PartialSums, AreReducedWhereNoGradientCame,
             {.mesh = {replicas, shards}, .names = {"replicate", "shard"}}) {
  Reduced reduced = expect_bits_of_one_device(mesh, {{0}, {1}}, true);
  expect(reduced.all_reduced == std::vector<std::int64_t>(2, 1), "an all-reduce of each group");
}

}  // namespace
}  // namespace simmesh::fsdp
