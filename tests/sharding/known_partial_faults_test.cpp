#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "tests/sharding/known_faults.h"

// Known faults of partial tensors.
//
// Tested elsewhere:
//   163193, 149768, PR 170030: Dispatch.ReplicatedPlusPartialAddsOnce
//   2.13 integers plus partial integers: PointwiseStrategies.IntegersStayWhole
//   2.13 view(dtype) of a partial sum: AliasStrategies.BytesOfPartialTensorsAreThoseOfTheSum
//   2.13 gradients with another Partial placement: DTensorGradient.MayBePartial
namespace simmesh::known_faults {

// 163374: the parts of a partial sum were clamped, and their sum was used as the result.
SIMMESH_TEST(KnownPartialFaults, ClampInPlaceOfAPartialSum163374, {.mesh = {2}, .schedules = 4}) {
  Tensor values = tensor_of<float>({3}, {-4, 1, 6}), x = laid(values, mesh, {total});
  testing::expect_error([&] { clamp_(x, -1, 2); }, ErrorKind::runtime_error, "in-place");
  EXPECT_SAME_BITS(joined(x), values);
  EXPECT_SAME_BITS(joined(clamp(x, -1, 2)), tensor_of<float>({3}, {-1, 1, 2}));
}

// 2.13 and 2.15: each rank's part was filled, so that the whole was the value times the ranks.
SIMMESH_TEST(KnownPartialFaults, FillOfAPartialSum213, {.mesh = {3}, .schedules = 4}) {
  Tensor x = laid(numbers({2, 2}), mesh, {total});
  testing::expect_error([&] { fill_(x, 3); }, ErrorKind::runtime_error, "in-place");
  EXPECT_SAME_BITS(joined(x), numbers({2, 2}));
  zero_(x);
  EXPECT_SAME_BITS(joined(x), zeros({2, 2}, DType::float32));
}

// 147180: comparisons looked at each rank's part.
SIMMESH_TEST(KnownPartialFaults, ComparisonsOfPartialTensors147180, {.mesh = {2}, .schedules = 4}) {
  Tensor values = tensor_of<float>({4}, {-2, 0, 1, 5});
  for (const Placement& partial : {total, average, largest, least}) {
    Tensor x = laid(values, mesh, {partial});
    EXPECT_SAME_BITS(joined(gt(x, 0.5)), gt(values, 0.5));
    EXPECT_SAME_BITS(joined(le(x, 0)), le(values, 0));
    EXPECT_SAME_BITS(joined(eq(x, laid(values, mesh, {whole}))), eq(values, values));
    EXPECT_SAME_BITS(joined(ne(x, laid(values, mesh, {total}))), ne(values, values));
  }
}

// 2.13: a replicated addend of a partial sum was divided by the number of ranks, and rounded.
SIMMESH_TEST(KnownPartialFaults, AnAddendOfAPartialSumIsntDivided213,
             {.mesh = {3}, .schedules = 4}) {
  Tensor bias = fractions({64}, 3), nothing = zeros({2, 64}, DType::float32);
  Tensor b = laid(bias, mesh, {whole});
  EXPECT_SAME_BITS(joined(add(from_local(nothing, mesh, {total}), b)), expand(bias, {2, 64}));
  Tensor x = laid(zeros({2, 6}, DType::float32), mesh, {Shard(1)});
  Tensor weight = laid(fractions({64, 6}), mesh, {Shard(1)});
  EXPECT_SAME_BITS(joined(linear(x, weight, b)), expand(bias, {2, 64}));
}

// torchtitan 2106, 2532: the gradient of a bias that is added to a partial sum counted once a rank.
SIMMESH_TEST(KnownPartialFaults, GradientOfABiasOfAPartialSum2106, {.mesh = {2}, .schedules = 4}) {
  expect_like_one_device(mesh, "a sum by parts plus a bias", {{{2, 3}, {total}}, {{3}, {whole}}},
                         [](Given x) { return Outputs{add(x[0], x[1])}; });
  expect_like_one_device(mesh, "a layer split by rows",
                         {{{2, 4}, {Shard(1)}}, {{3, 4}, {Shard(1)}}, {{3}, {whole}}},
                         [](Given x) { return Outputs{linear(x[0], x[1], x[2])}; });
}

// 172932, PRs 115967, 173153, 173454: the gradient of a rank's part was off by the number of ranks.
SIMMESH_TEST(KnownPartialFaults, GradientsOfPartsArentScaled172932, {.mesh = {4}, .schedules = 4}) {
  Tensor part = numbers({3}, 1 + std::uint64_t(mesh.get_rank()));
  set_requires_grad(part);
  Tensor slopes = tensor_of<float>({3}, {2, 3, 5});
  Tensor there = from_local(part, mesh, {total}).full_tensor();
  backward(sum(mul(there, slopes)));
  EXPECT_SAME_BITS(grad_of(part), slopes);

  DTensor partial = from_local(numbers({3}), mesh, {total});
  partial.set_requires_grad();
  backward(sum(mul(partial.to_local(), slopes)));
  EXPECT_EQ(to_string(partial.grad()->placements()), "R");
  EXPECT_SAME_BITS(partial.grad()->full_tensor(), slopes);
}

// 2.13: operands that are partial in unlike ways raised an AssertionError.
SIMMESH_TEST(KnownPartialFaults, CatOfUnlikePartialTensors213, {.mesh = {2}, .schedules = 4}) {
  Tensor a = numbers({2, 2}, 1), b = numbers({2, 2}, 2);
  Tensor both = cat({laid(a, mesh, {total}), laid(b, mesh, {largest})}, 0);
  EXPECT_SAME_BITS(joined(both), cat({a, b}, 0));
}

// 2.13 and 2.15: integers that become partial were divided in floating point.
SIMMESH_TEST(KnownPartialFaults, IntegersArentDividedAmongTheRanks213,
             {.mesh = {3}, .schedules = 4}) {
  Tensor counts = tensor_of<std::int64_t>({3}, {1, 5, 7});
  DTensor x = distribute_tensor(counts, mesh, {whole});
  testing::expect_error([&] { x.redistribute_local({total}); }, ErrorKind::type_error, "int64");
  Tensor more = add(x, from_local(counts, mesh, {total}));
  EXPECT_EQ(more.dtype(), DType::int64);
  EXPECT_SAME_BITS(joined(more), mul(counts, 4));
}

// 171916: a reduction in two steps gave ranks sums with unlike bits.
SIMMESH_TEST(KnownPartialFaults, ReductionsInTwoStepsAreEqualOnAllRanks171916,
             {.mesh = {2, 3}, .names = {"a", "b"}, .schedules = 8}) {
  Tensor part = fractions({16}, 1 + std::uint64_t(mesh.get_rank()));
  DeviceMesh flat = mesh.flatten();
  for (const Placements& halfway :
       {Placements{whole, total}, Placements{total, whole}, Placements{whole, whole}}) {
    Tensor own = from_local(part, mesh, {total, total})
                     .redistribute(halfway)
                     .redistribute({whole, whole})
                     .local();
    Tensor all = from_local(unsqueeze(own, 0), flat, {Shard(0)}).full_tensor();
    EXPECT_SAME_BITS(all, expand(own, {6, 16}).contiguous());
  }
}

}  // namespace simmesh::known_faults
