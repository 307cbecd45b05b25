#include <limits>

#include "core/ops/elementwise/comparison.h"
#include "core/ops/reductions/extremes.h"
#include "core/ops/reductions/logcumsumexp.h"
#include "core/ops/reductions/scans.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/reductions/sums.h"
#include "tests/sharding/known_faults.h"

// Known faults of reductions and scans.
//
// Tested elsewhere:
//   144054, 152406, 167213: ConversionStrategies.AnItemIsTheWholeValueOnEveryRank
//   equal between ranks: ComparisonStrategies.EqualIsOneAnswerForAllRanks
//   2.15 amax(out=), amin(out=), cached out=: Dispatch.OutTensorsKeepTheirLayout
namespace simmesh::known_faults {

// 2.13: a scan along a negative dim went over each piece alone.
SIMMESH_TEST(KnownReductionFaults, ScansAlongANegativeDim213, {.mesh = {2}, .schedules = 4}) {
  for (const Placement& placement : {Placement(Shard(1)), total, largest})
    for (auto* scan : {cumsum, cumprod, logcumsumexp})
      expect_like_one_device(mesh, "a scan along dim -1", {{{3, 4}, {placement}}},
                             [scan](Given x) { return Outputs{scan(x[0], -1)}; });
}

// 2.13 and 2.15: logsumexp that keeps its dim said that another dim was sharded.
SIMMESH_TEST(KnownReductionFaults, LogsumexpKeepsTheDim213, {.mesh = {2}, .schedules = 4}) {
  Tensor x = laid(fractions({3, 2, 4}), mesh, {Shard(2)});
  EXPECT_EQ(layout(logsumexp(x, {0}, true)), "S(2)");
  EXPECT_SAME_BITS(joined(logsumexp(x, {0}, true)), logsumexp(fractions({3, 2, 4}), {0}, true));
}

// 2.13 and 2.15: a rank whose shard has no elements raised.
SIMMESH_TEST(KnownReductionFaults, ExtremesOfEmptyShards213, {.mesh = {4}, .schedules = 4}) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Tensor part = numbers({2, 3}), x = laid(part, mesh, {Shard(0)});
  EXPECT_SAME_BITS(joined(amax(x, {0})), amax(part, {0}));
  EXPECT_SAME_BITS(joined(amin(x, {0})), amin(part, {0}));
  EXPECT_SAME_BITS(joined(max(x)), max(part));
  EXPECT_SAME_BITS(joined(min(x)), min(part));
  EXPECT_SAME_BITS(joined(argmax(x)), argmax(part));
  EXPECT_SAME_BITS(joined(argmin(x, 0)), argmin(part, 0));
  EXPECT_SAME_BITS(joined(vector_norm(x, infinity)), vector_norm(part, infinity));
  EXPECT_SAME_BITS(joined(vector_norm(x, -infinity)), vector_norm(part, -infinity));
}

// 2.15: max() and min() of a tensor that is partial on one mesh dim kept an uneven shard on
// another, and raised where a piece was empty.
SIMMESH_TEST(KnownReductionFaults, ExtremesOfPartialAndEmptyShards215,
             {.mesh = {2, 2}, .schedules = 4}) {
  for (std::int64_t rows : {1, 3}) {
    Tensor part = formula({rows, 2}, {.rule = Rule::small, .seed = 2});
    for (const Placement& partial : {total, largest, least}) {
      Tensor x = laid(part, mesh, {partial, Shard(0)});
      EXPECT_SAME_BITS(joined(max(x)), max(part));
      EXPECT_SAME_BITS(joined(min(x)), min(part));
    }
  }
}

// 2.13 and 2.15: the largest magnitude of a partial maximum was taken of each part.
SIMMESH_TEST(KnownReductionFaults, InfinityNormOfAPartialMaximum213,
             {.mesh = {2}, .schedules = 4}) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Tensor values = tensor_of<float>({3}, {-1, 2, -2});
  for (const Placement& partial : {largest, least, total})
    EXPECT_SAME_BITS(joined(vector_norm(laid(values, mesh, {partial}), infinity)),
                     vector_norm(values, infinity));
}

// 162692: the means of uneven pieces were averaged alike, and the mean of none was NaN.
SIMMESH_TEST(KnownReductionFaults, MeansOfUnevenAndEmptyShards162692,
             {.mesh = {4}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (std::int64_t rows : {5, 2, 8}) {
    Tensor part = formula({rows, 3}, {.rule = Rule::small, .seed = 4});
    Tensor x = laid(part, mesh, {Shard(0)});
    EXPECT_SAME_BITS(joined(mean(x)), mean(part));
    EXPECT_SAME_BITS(joined(mean(x, {0})), mean(part, {0}));
    EXPECT_SAME_BITS(joined(mean(x, {1}, true)), mean(part, {1}, true));
  }
}

// 165962: the largest, the least or the norm of each rank's part of a sum was taken.
SIMMESH_TEST(KnownReductionFaults, ExtremesAndNormsOfAPartialSum165962,
             {.mesh = {3}, .schedules = 4}) {
  Tensor values = tensor_of<float>({2, 2}, {-4, 3, 1, 0}), x = laid(values, mesh, {total});
  EXPECT_SAME_BITS(joined(max(x)), max(values));
  EXPECT_SAME_BITS(joined(min(x, 0).values), min(values, 0).values);
  EXPECT_SAME_BITS(joined(amax(x, {1})), amax(values, {1}));
  EXPECT_SAME_BITS(joined(vector_norm(x, 1)), vector_norm(values, 1));
  EXPECT_SAME_BITS(joined(vector_norm(x, 0)), vector_norm(values, 0));
}

// 168940, 175776, 173936: the largest of the ranks' indices was used as that of the largest value.
SIMMESH_TEST(KnownReductionFaults, IndicesOfExtremesAreOfTheWhole168940,
             {.mesh = {2}, .schedules = 4}) {
  Tensor values = tensor_of<float>({4, 2}, {9, 0, 1, 7, 3, 7, 2, 1});
  for (const Placement& placement : {Placement(Shard(0)), Placement(Shard(1)), total, largest}) {
    Tensor x = laid(values, mesh, {placement});
    EXPECT_SAME_BITS(joined(max(x, 0).indices), tensor_of<std::int64_t>({2}, {0, 1}));
    EXPECT_SAME_BITS(joined(max(x, 0).values), tensor_of<float>({2}, {9, 7}));
    EXPECT_SAME_BITS(joined(argmax(x)), tensor_of<std::int64_t>({}, {0}));
    EXPECT_SAME_BITS(joined(argmin(x, 0)), tensor_of<std::int64_t>({2}, {1, 0}));
  }
}

// autoparallel PR 462: that one candidate's reduction is linear held for the next ones too, so that
// partial sums passed reductions that aren't.
SIMMESH_TEST(KnownReductionFaults, OnlyLinearReductionsPassAPartialSum462,
             {.mesh = {2, 2}, .schedules = 4}) {
  for (const Placements& placements : {Placements{total, Shard(0)}, Placements{Shard(0), total},
                                       Placements{total, total}, Placements{average, Shard(1)}})
    for (bool keepdim : {false, true}) {
      Tensor values = numbers({4, 2}, 5), x = laid(values, mesh, placements);
      EXPECT_SAME_BITS(joined(sum(x, {0}, keepdim)), sum(values, {0}, keepdim));
      EXPECT_SAME_BITS(joined(prod(x, {0}, keepdim)), prod(values, {0}, keepdim));
      EXPECT_SAME_BITS(joined(amax(x, {0}, keepdim)), amax(values, {0}, keepdim));
      EXPECT_SAME_BITS(joined(mean(x, {0}, keepdim)), mean(values, {0}, keepdim));
      EXPECT_SAME_BITS(joined(any(x, {0}, keepdim)), any(values, {0}, keepdim));
    }
}

}  // namespace simmesh::known_faults
