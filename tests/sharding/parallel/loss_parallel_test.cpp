#include "sharding/parallel/loss_parallel.h"

#include "collectives/comm_debug_mode.h"
#include "tests/expect_error.h"
#include "tests/sharding/parallel/tensor_parallel.h"

namespace simmesh {
namespace {

using namespace tensor_parallel;

constexpr LossReduction reductions[] = {LossReduction::none, LossReduction::sum,
                                        LossReduction::mean};

struct LossRun {
  Tensor loss, gradient;
};

LossRun run(const Tensor& logits, const std::function<Tensor(const Tensor& x)>& loss_of,
            const Tensor& upstream) {
  Tensor x = logits;
  set_requires_grad(x);
  Tensor loss = loss_of(x);
  backward(loss, {.gradients = {upstream}});
  return {whole(loss), whole(grad_of(x))};
}

class SplitClasses : public ::testing::TestWithParam<std::int64_t> {};

// Logits that are split along their classes have another loss or gradient than whole ones: for
// classes that don't divide, ranks without any, weights, ignored targets.
SIMMESH_TEST_P(SplitClasses, HaveTheLossOfWholeLogits,
               {.mesh = {GetParam()}, .schedules = 10, .arithmetic = Arithmetic::exact()}) {
  Tensor logits = formula({5, 7}, {.rule = Rule::unit, .seed = 1});
  Tensor target = tensor_of<std::int64_t>({5}, {0, 6, -100, 3, 6});
  for (LossReduction reduction : reductions)
    for (bool has_weight : {false, true}) {
      ClassLoss options{.reduction = reduction};
      if (has_weight) options.weight = formula({7}, {.rule = Rule::unit, .seed = 3});
      Tensor upstream = formula(reduction == LossReduction::none ? Shape{5} : Shape{},
                                {.rule = Rule::unit, .seed = 2});
      LossRun expected = run(
          logits.clone(), [&](const Tensor& x) { return cross_entropy(x, target, options); },
          upstream);
      LossRun came = run(
          distribute_tensor(logits, mesh, {Shard(1)}).as_tensor(),
          [&](const Tensor& x) { return loss_parallel_cross_entropy(x, target, options); },
          distribute_tensor(upstream, mesh, {Replicate()}).as_tensor());
      EXPECT_SAME_BITS(came.loss, expected.loss);
      EXPECT_SAME_BITS(came.gradient, expected.gradient);
    }
}
INSTANTIATE_TEST_SUITE_P(Worlds, SplitClasses, ::testing::Values(2, 3, 4, 8));

// With the batch split, too, a mean is that of the ranks' means.
SIMMESH_TEST(LossParallel, BatchesMayBeSplitOverOtherMeshDims,
             {.mesh = {2, 2}, .schedules = 10, .arithmetic = Arithmetic::exact()}) {
  Tensor logits = formula({5, 6}, {.rule = Rule::unit, .seed = 1});
  Tensor target = tensor_of<std::int64_t>({5}, {0, 5, -100, 3, 2});
  DTensor x = distribute_tensor(logits, mesh, {Shard(0), Shard(1)});
  DTensor split = distribute_tensor(target, mesh, {Shard(0), Replicate()});
  for (LossReduction reduction : reductions)
    EXPECT_SAME_BITS(whole(loss_parallel_cross_entropy(x, split, {.reduction = reduction})),
                     cross_entropy(logits, target, {.reduction = reduction}));
  testing::expect_error([&] { loss_parallel_cross_entropy(x, target); }, ErrorKind::value_error,
                        "expected a distributed target");
}

// The logits are gathered after all.
SIMMESH_TEST(LossParallel, SendsThreeNumbersARow, {.mesh = {2}, .schedules = 4}) {
  DTensor x = distribute_tensor(numbers({4, 64}, 1), mesh, {Shard(1)});
  Tensor target = tensor_of<std::int64_t>({4}, {0, 63, 5, 3});
  CommDebugMode mode;
  loss_parallel_cross_entropy(x, target);
  EXPECT_EQ(mode.get_comm_counts(),
            (std::map<std::string, CommDebugMode::Count>{{"all_reduce", {3, 48}}}));
}

// Logits with other placements are used as split ones.
SIMMESH_TEST(LossParallel, RefusesLogitsThatAreNotSplitAlongTheClasses,
             {.mesh = {2}, .schedules = 2}) {
  Tensor target = tensor_of<std::int64_t>({4}, {0, 1, 2, 3}), logits = numbers({4, 4}, 1);
  for (const Placement& placement : {Placement(Shard(0)), Replicate()})
    testing::expect_error(
        [&] { loss_parallel_cross_entropy(distribute_tensor(logits, mesh, {placement}), target); },
        ErrorKind::value_error, "expected logits whose dim 1 one mesh dim splits");
  testing::expect_error(
      [&] {
        loss_parallel_cross_entropy(distribute_tensor(logits, mesh, {Shard(1)}), target,
                                    {.label_smoothing = 0.1});
      },
      ErrorKind::value_error, "expected no label_smoothing");
}

}  // namespace
}  // namespace simmesh
