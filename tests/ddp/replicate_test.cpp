#include "ddp/replicate.h"

#include <cmath>
#include <gmock/gmock.h>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// Two layers. If the second one isn't called, its parameters are unused.
std::shared_ptr<nn::Sequential> make_model(bool uses_both = true, std::uint64_t seed = 1) {
  std::vector<nn::NamedModule> layers = {
      {"a", std::make_shared<nn::Linear>(nn::Linear::Options{.in = 3, .out = 3})},
      {"b", std::make_shared<nn::Linear>(nn::Linear::Options{.in = 3, .out = 3})}};
  std::vector<std::string> calls = {"a"};
  if (uses_both) calls.emplace_back("b");
  auto model = std::make_shared<nn::Sequential>(std::move(layers), std::move(calls));
  for (auto& [name, parameter] : model->named_parameters()) {
    Tensor data = parameter.detach();
    copy_(data, formula(data.shape(), {.rule = Rule::unit, .seed = seed++}));
  }
  return model;
}

Tensor rows() { return formula({6, 3}, {.rule = Rule::wide, .seed = 9}); }

void run_rows(nn::Module& model, std::int64_t start, std::int64_t count) {
  backward(sum(model(rows().narrow({0, start, count}))));
}

// The part of rank r in the six rows.
void run_own_rows(nn::Module& model, const ProcessGroup& group) {
  std::int64_t count = 6 / group.size();
  run_rows(model, count * group.rank(), count);
}

void expect_same_gradients(nn::Module& model, nn::Module& expected) {
  auto own = model.parameters(), whole = expected.parameters();
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_SAME_BITS(grad_of(own[i]), grad_of(whole[i]));
}

// The gradients of all rows on one rank; cutting the rows must not change a bit of them.
SIMMESH_TEST(Replicate, ExactGradientsAreThoseOfOneDevice,
             {.mesh = {3}, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup group = process_group(mesh);
  for (std::size_t bucket_bytes : {1, 40, 1 << 20}) {
    auto model = make_model(), whole = make_model();
    Replication replication = replicate(*model, group, {.bucket_bytes = bucket_bytes});
    run_own_rows(*model, group);
    run_rows(*whole, 0, 6);
    expect_same_gradients(*model, *whole);
  }
}

// Without gradient sync a backward pass only accumulates; the next one with sync sums everything.
SIMMESH_TEST(Replicate, AccumulatesWithoutSync, {.mesh = {2}, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup group = process_group(mesh);
  auto model = make_model(), whole = make_model();
  Replication replication = replicate(*model, group);
  replication.set_requires_gradient_sync(false);
  run_rows(*model, 3 * group.rank(), 1);
  std::uint32_t before = this_rank().counters()[std::size_t(CollectiveOp::all_reduce)];
  replication.set_requires_gradient_sync(true);
  run_rows(*model, 3 * group.rank() + 1, 2);
  std::uint32_t after = this_rank().counters()[std::size_t(CollectiveOp::all_reduce)];
  run_rows(*whole, 0, 6);
  expect_same_gradients(*model, *whole);
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(after, 1u);
}

// Every other arithmetic adds the gradients of the members in its own order and averages by its
// rule.
SIMMESH_TEST(Replicate, CanonicalGradientsAreAllReduced, {.mesh = {3}}) {
  ProcessGroup group = process_group(mesh);
  for (bool average : {false, true}) {
    auto model = make_model(), alone = make_model();
    Replication replication = replicate(*model, group, {.average = average});
    run_own_rows(*model, group);
    run_own_rows(*alone, group);
    auto own = model->parameters(), parts = alone->parameters();
    for (std::size_t i = 0; i < own.size(); ++i)
      EXPECT_SAME_BITS(grad_of(own[i]), all_reduce(grad_of(parts[i]).detach(),
                                                   average ? ReduceOp::avg : ReduceOp::sum, group));
  }
}

SIMMESH_TEST(Replicate, AnExactAverageDividesOnce,
             {.mesh = {3}, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup group = process_group(mesh);
  auto model = make_model();
  Replication replication = replicate(*model, group, {.average = true});
  run_rows(*model, 0, 6);  // the same rows on all ranks, so the mean is the gradient of each rank
  auto alone = make_model();
  run_rows(*alone, 0, 6);
  expect_same_gradients(*model, *alone);
}

// A parameter that one rank doesn't use counts as zeros there. A parameter that no rank uses gets
// zeros, or no gradient with find_unused.
SIMMESH_TEST(Replicate, UnusedParametersCountAsZeros, {.mesh = {2}}) {
  ProcessGroup group = process_group(mesh);
  auto model = make_model(group.rank() == 0), other = make_model(true);
  Replication replication = replicate(*model, group);
  run_rows(*model, 0, 2);
  run_rows(*other, 0, 2);
  EXPECT_SAME_BITS(grad_of(model->find("b").parameter("weight")),
                   grad_of(other->find("b").parameter("weight")));
  for (bool find_unused : {false, true}) {
    auto unused = make_model(false);
    Replication second = replicate(*unused, group, {.find_unused = find_unused});
    run_rows(*unused, 0, 2);
    Tensor gradient = grad_of(unused->find("b").parameter("weight"));
    EXPECT_EQ(gradient.is_defined(), !find_unused);
    if (!find_unused) EXPECT_SAME_BITS(gradient, zeros({3, 3}, DType::float32));
  }
}

// Infinities have no digits: they are sent as counts, and decide the element on every rank.
SIMMESH_TEST(Replicate, ExactGradientsCarryInfinities,
             {.mesh = {2}, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup group = process_group(mesh);
  auto model = make_model(false);
  Replication replication = replicate(*model, group);
  Tensor input = full({1, 3}, DType::float32, 1);
  if (group.rank() == 1) input.mutable_values<float>()[2] = INFINITY;
  backward(sum((*model)(input)));
  EXPECT_SAME_BITS(grad_of(model->find("a").parameter("weight")),
                   tensor_of<float>({3, 3}, {2, 2, INFINITY, 2, 2, INFINITY, 2, 2, INFINITY}));
}

SIMMESH_TEST(Replicate, TakesTheValuesOfTheFirstMember, {.mesh = {3}}) {
  ProcessGroup group = process_group(mesh);
  auto model = make_model(true, std::uint64_t(group.rank() * 10 + 1)), first = make_model();
  replicate(*model, group);
  auto own = model->parameters(), expected = first->parameters();
  for (std::size_t i = 0; i < own.size(); ++i)
    EXPECT_SAME_BITS(own[i].detach(), expected[i].detach());
}

// Parameters fill buckets from the last to the first, so the bucket of the first gradients starts
// first.
SIMMESH_TEST(Replicate, FillsBucketsByBytes, {.mesh = {2}}) {
  auto model = make_model();  // weights of 36 bytes, biases of 12
  ProcessGroup group = process_group(mesh);
  EXPECT_EQ(replicate(*model, group, {.bucket_bytes = 1}).bucket_count(), 4u);
  EXPECT_EQ(replicate(*make_model(), group, {.bucket_bytes = 48}).bucket_count(), 2u);
  EXPECT_EQ(replicate(*make_model(), group).bucket_count(), 1u);
}

std::string failure_of(std::size_t ranks, const std::function<void(Rank&)>& body) {
  World world({.ranks = ranks});
  Outcome outcome = world.run(body);
  return outcome.ok() ? "" : outcome.failure->message;
}

// Experts: each rank of "ep" has another layer b, which the ranks of "dp" share. Its gradient is
// summed over the rest of the mesh too, or its mean is one of too few ranks.
SIMMESH_TEST(Replicate, ParametersApartHaveOtherPartners,
             {.mesh = {2, 2}, .names = {"dp", "ep"}, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup all = ProcessGroup::world(), dp = process_group(mesh, "dp");
  std::uint64_t seed = 1 + std::uint64_t(mesh.get_local_rank("ep"));
  for (bool has_partners : {true, false})
    for (bool average : {false, true}) {
      auto model = make_model(true, 10 * seed), other = make_model(true, 10 * seed);
      std::vector<Tensor> apart = model->find("b").parameters();
      ReplicatedApart own{apart, has_partners ? std::optional(dp) : std::nullopt};
      Replication replication =
          replicate(*model, all, {.bucket_bytes = 40, .average = average, .apart = {own}});
      Tensor shared = other->find("a").parameter("weight").detach();
      copy_(shared, broadcast(shared.clone(), 0, all));
      Tensor shared_bias = other->find("a").parameter("bias").detach();
      copy_(shared_bias, broadcast(shared_bias.clone(), 0, all));
      run_rows(*model, all.rank(), 1);
      run_rows(*other, all.rank(), 1);
      for (const char* layer : {"a", "b"})
        for (const char* name : {"weight", "bias"}) {
          KeepUnrounded scope;
          Tensor sum = grad_of(other->find(layer).parameter(name)).detach();
          bool is_apart = layer == std::string_view("b");
          if (!is_apart || has_partners) sum = all_reduce(sum, ReduceOp::sum, is_apart ? dp : all);
          if (average) sum = div(sum, 4.0);
          EXPECT_SAME_BITS(grad_of(model->find(layer).parameter(name)), sum);
        }
    }
}

// A rank whose own parameters got no gradient leaves those waiting that share them.
SIMMESH_TEST(Replicate, UnusedParametersApart, {.mesh = {2, 2}, .names = {"dp", "ep"}}) {
  ProcessGroup all = ProcessGroup::world(), dp = process_group(mesh, "dp");
  for (bool uses : {false, true}) {
    auto model = make_model(uses && dp.rank() == 0), other = make_model();
    ReplicatedApart own{model->find("b").parameters(), dp};
    replicate(*model, all, {.find_unused = true, .apart = {own}});
    run_rows(*model, 0, 2);
    run_rows(*other, 0, 2);
    Tensor gradient = grad_of(model->find("b").parameter("weight"));
    EXPECT_EQ(gradient.is_defined(), uses);
    if (uses) EXPECT_SAME_BITS(gradient, grad_of(other->find("b").parameter("weight")));
  }
}

TEST(Replicate, NamesTheFirstParameterThatDiffers) {
  std::string message = failure_of(2, [](Rank& rank) {
    nn::Linear layer({.in = 2, .out = rank.id() == 0 ? 3 : 4});
    replicate(layer, ProcessGroup::world());
  });
  EXPECT_THAT(message, HasSubstr("weight float32[3, 2]"));
  EXPECT_THAT(message, HasSubstr("got weight float32[4, 2]"));
}

// Without this error, sums that are reduced a second time would be wrong silently.
// If this fails, the report of a hang names a line of the library.
TEST(Replicate, ReportsNameTheLineOfTheUser) {
  int line = 0;
  Outcome outcome = World({.ranks = 2}).run([&](Rank& rank) {
    auto model = make_model();
    line = __LINE__ + 1;
    replicate(*model, ProcessGroup::world());
    if (rank.id() == 0) run_rows(*model, 0, 3);
  });
  EXPECT_THAT(report(outcome), HasSubstr(fmt::format("replicate_test.cpp:{} (replicate)", line)));
}

TEST(Replicate, RefusesASecondBackwardPass) {
  std::string message = failure_of(1, [](Rank&) {
    auto model = make_model();
    replicate(*model, ProcessGroup::world());
    Tensor loss = sum((*model)(rows()));
    backward(loss, {.retain_graph = true});
    backward(loss);
  });
  EXPECT_THAT(message, HasSubstr("expected one backward pass after each forward pass"));
}

}  // namespace
}  // namespace simmesh
