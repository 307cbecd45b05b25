#include "zero/stage12/flat_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <utility>
#include <vector>

#include "testing/gtest.h"

namespace simmesh::zero {
namespace {

// Two parameters of three and two elements, whose gradients on rank r are 2 * (r + 1) * (1, 2, ..)
// and 20 * (r + 1) * (1, 2).
struct Reduced {
  Reduced(const DeviceMesh& mesh, const Config& config,
          std::vector<std::optional<DType>> lower = {{}, {}})
      : partition({{"a", zeros({3}, DType::float32)}, {"b", zeros({2}, DType::float32)}}, {{0, 1}},
                  {.rank = mesh.get_rank(), .layout = {.ranks = 2, .alignment = 1}}),
        gradients(partition, config, ProcessGroup::world(),
                  {.names = {"a", "b"}, .lower_dtypes = std::move(lower)}),
        factor(float(mesh.get_rank() + 1)) {}

  void add_both() {
    gradients.add(1, tensor_of<float>({2}, {20 * factor, 40 * factor}));
    gradients.add(0, tensor_of<float>({3}, {2 * factor, 4 * factor, 6 * factor}));
  }

  // Elements of the means that this rank owns, at their places in (a, b).
  void expect_means(float times) const {
    const float means[] = {3, 6, 9, 30, 60};
    for (const OwnedPiece& piece : partition.pieces())
      for (std::int64_t i = 0; i < piece.count; ++i)
        EXPECT_EQ(piece.gradient.values<float>()[std::size_t(i)],
                  times * means[(piece.parameter ? 3 : 0) + piece.first + i]);
  }

  FlatPartition partition;
  FlatGradients gradients;
  float factor;
};

Config stage2(std::int64_t bucket) {
  Config config;
  config.zero_optimization = {.stage = 2, .reduce_bucket_size = bucket};
  return config;
}

// If this fails, what a rank gets depends on how gradients fall into buckets.
SIMMESH_TEST(FlatGradients, PiecesAreTheMeansWhateverTheBucket, {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t bucket : {1, 2, 3, 100})
    for (bool reduce_scatter : {false, true})
      for (bool overlaps : {false, true}) {
        Config config = stage2(bucket);
        config.zero_optimization.reduce_scatter = reduce_scatter;
        config.zero_optimization.overlap_comm = overlaps;
        Reduced reduced(mesh, config);
        reduced.add_both();
        reduced.gradients.flush();
        reduced.expect_means(1);
        reduced.add_both();
        reduced.gradients.flush();
        reduced.expect_means(2);
        reduced.gradients.drop();
        for (const OwnedPiece& piece : reduced.partition.pieces())
          EXPECT_FALSE(piece.gradient.is_defined());
      }
}

// If this fails, estimates of memory leave out the bucket, or count more than ever is in it.
SIMMESH_TEST(FlatGradients, TheBucketHoldsNoMoreThanItsSize, {.mesh = {2}, .schedules = 2}) {
  Config config = stage2(3);
  config.zero_optimization.contiguous_gradients = false;
  Reduced reduced(mesh, config);
  EXPECT_EQ(reduced.gradients.bucket_bytes(), 0);
  reduced.gradients.add(1, tensor_of<float>({2}, {1, 2}));
  EXPECT_EQ(reduced.gradients.bucket_bytes(), 8);
  reduced.gradients.add(0, tensor_of<float>({3}, {1, 2, 3}));
  EXPECT_EQ(reduced.gradients.bucket_bytes(), 12);
  reduced.gradients.flush();
  EXPECT_EQ(reduced.gradients.bucket_bytes(), 0);
}

// If this fails, a parameter that torch_autocast lowers is reduced in its own dtype, or another one
// in the lower dtype, or sums of micro-batches are rounded to it.
SIMMESH_TEST(FlatGradients, LowerDtypesAreReducedByThemselves, {.mesh = {2}, .schedules = 4}) {
  for (bool reduce_scatter : {false, true})
    for (bool multi_rank : {false, true}) {
      Config config = stage2(100);
      config.zero_optimization.reduce_scatter = reduce_scatter;
      config.zero_optimization.use_multi_rank_bucket_allreduce = multi_rank;
      Reduced reduced(mesh, config, {{DType::bfloat16}, {}});
      for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
        reduced.gradients.add(0, full({3}, DType::float32, 514.0));
        reduced.gradients.add(1, full({2}, DType::float32, 257.0));
        reduced.gradients.flush();
        if (micro_batch == 0) reduced.gradients.add(0, full({3}, DType::float32, 2.0));
      }
      for (const OwnedPiece& piece : reduced.partition.pieces()) {
        EXPECT_EQ(piece.gradient.dtype(), DType::float32);
        for (float value : piece.gradient.values<float>())
          EXPECT_EQ(value, piece.parameter == 0 ? 512.0f + 2.0f + 512.0f : 514.0f);
      }
    }
}

}  // namespace
}  // namespace simmesh::zero
