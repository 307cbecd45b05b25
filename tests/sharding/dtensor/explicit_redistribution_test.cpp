#include "sharding/dtensor/explicit_redistribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>

#include "collectives/process_group.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/world.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

// A redistribution that nobody asked for must not pass unseen, and one that was asked for must not
// be refused.
namespace simmesh {
namespace {

using simmesh::testing::expect_error;
using testing::kind_and_message;

const Placement partial = Partial(ReduceOp::sum);

// Runs the backward pass of from_local in R, for a gradient with the given placement.
void run_from_local_backward(const DeviceMesh& mesh, const Placement& gradient) {
  Tensor leaf = full({2}, DType::float32, 1);
  set_requires_grad(leaf);
  DTensor x = from_local(leaf, mesh, {Replicate()});
  Tensor y = x.to_local({.grad_placements = Placements{gradient}});
  backward(y, {.gradients = {full(y.shape(), DType::float32, 1)}});
}

// Returns what rank 0 is told of that backward pass.
std::string told(const ExplicitRedistributionOptions& options, const Placement& gradient,
                 Release release) {
  std::string text;
  std::mutex mutex;
  auto warn = [&](std::string_view line) {
    std::scoped_lock lock(mutex);
    if (line.starts_with("rank 0")) text = "warning: " + std::string(line);
  };
  World world({.ranks = 2, .release = release, .log = {.warning = warn}});
  Outcome outcome = world.run([&](Rank& rank) {
    ExplicitRedistributionContext scope(options);
    std::string refusal =
        kind_and_message([&] { run_from_local_backward(init_device_mesh({2}), gradient); });
    if (rank.id() == 0 && !refusal.empty()) text = refusal;
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return text;
}

// The answers of PyTorch 2.13.0 and 2.15.0 to this program.
TEST(ReleaseChanges, ExplicitContextSeesFromLocal) {
  const char* message =
      "Implicit redistribution occurred in DTensor.from_local backward: expected R, got P(sum)";
  EXPECT_EQ(told({.strict = true}, partial, Release::v2_13), "");
  EXPECT_EQ(told({.strict = true}, partial, Release::v2_15),
            std::string("RuntimeError: ") + message);
  EXPECT_EQ(told({}, partial, Release::v2_13), "");
  EXPECT_EQ(told({}, partial, Release::v2_15), std::string("RuntimeError: ") + message);
}

TEST(ExplicitRedistribution, ObeysItsOptions) {
  const Release release = Release::v2_15;
  EXPECT_EQ(told({.enable = false, .strict = true}, partial, release), "");
  EXPECT_EQ(told({.strict = true}, Replicate(), release), "");
  EXPECT_EQ(
      told({.strict = true, .mode = "warn"}, partial, release),
      "warning: rank 0: Implicit redistribution occurred in DTensor.from_local backward: from "
      "P(sum) to R");
}

// Only what communicates is refused unless the scope is strict.
SIMMESH_TEST(ExplicitRedistribution, ALocalStepIsFreeUnlessStrict, {.mesh = {2}}) {
  DTensor x = distribute_tensor(full({2}, DType::float32, 1), mesh, {Replicate()},
                                {.from_first_rank = false});
  Sharding cut{{Shard(0)}, {}};
  ExplicitRedistributionContext outer({.strict = true});
  {
    ExplicitRedistributionContext inner;
    ExplicitRedistributionContext::observe_redistribution(x, cut, "a cut");
  }
  expect_error([&] { ExplicitRedistributionContext::observe_redistribution(x, cut, "a cut"); },
               ErrorKind::runtime_error, "a cut");
  // Embedding a shard doesn't communicate, but has no finite cost.
  DTensor y = x.redistribute({Shard(0)});
  ExplicitRedistributionContext inner;
  expect_error(
      [&] {
        ExplicitRedistributionContext::observe_redistribution(y, {{partial}, {}}, "an embedding");
      },
      ErrorKind::runtime_error, "an embedding");
}

// Whatever a program asks for, forward and backward, is explicit.
SIMMESH_TEST(ExplicitRedistribution, AllowsWhatIsAskedFor, {.mesh = {2}}) {
  ExplicitRedistributionContext scope({.strict = true});
  DTensor x = distribute_tensor(full({4}, DType::float32, 1), mesh, {Shard(0)});
  x.set_requires_grad();
  Tensor y = x.redistribute({Replicate()}).to_local({.grad_placements = Placements{partial}});
  backward(y, {.gradients = {full({4}, DType::float32, 1)}});
  EXPECT_SAME_BITS(x.grad()->local(), full({2}, DType::float32, 2));
  expect_error([] { ExplicitRedistributionContext other({.mode = "ignore"}); },
               ErrorKind::runtime_error, "Invalid mode ignore");
}

}  // namespace
}  // namespace simmesh
