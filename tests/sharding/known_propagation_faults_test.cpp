#include "core/ops/compute_mode.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/neural/attention.h"
#include "core/ops/neural/convolution.h"
#include "core/ops/neural/losses.h"
#include "core/ops/neural/normalization.h"
#include "core/ops/neural/pooling.h"
#include "core/ops/reductions/sums.h"
#include "sharding/parallel/loss_parallel.h"
#include "tests/sharding/known_faults.h"

// Known faults of how ops run on distributed tensors, reductions, views and partial tensors apart.
//
// Tested elsewhere:
//   166598: Propagate.ShardOrdersOfContractedDimsAgree
//   168058, 141212, 169088: RandomStrategies.DrawWhatOneDeviceDraws
//   168058 of parts of tensors: RandomStrategies.APartOfALargerTensorIsDrawnAtItsPlace
//   2.15 weighted and mean losses of split classes: SplitClasses.HaveTheLossOfWholeLogits
//
// exponential_, which draws without regard to the layout, is no op here; torch.compile isn't
// either.
namespace simmesh::known_faults {

// 172350: rows were written by a rank that doesn't hold them.
SIMMESH_TEST(KnownPropagationFaults, IndexPutIntoSplitRows172350, {.mesh = {2}, .schedules = 4}) {
  Tensor rows = tensor_of<std::int64_t>({2}, {4, 1});
  Tensor x = numbers({6, 3}, 1), values = numbers({2, 3}, 2);
  for (const Placement& of_x : {Placement(Shard(0)), Placement(Shard(1)), whole})
    for (const Placement& of_values : {Placement(Shard(0)), Placement(Shard(1)), total})
      for (const Placement& of_rows : {Placement(Shard(0)), whole}) {
        Tensor got = index_put(laid(x, mesh, {of_x}), {laid(rows, mesh, {of_rows})},
                               laid(values, mesh, {of_values}), true);
        EXPECT_SAME_BITS(joined(got), index_put(x, {rows}, values, true));
      }
}

// 2.13: gather and scatter_add let dims be split although their sizes differ.
SIMMESH_TEST(KnownPropagationFaults, GatherOfUnlikeSizes213, {.mesh = {2}, .schedules = 4}) {
  Tensor x = numbers({4, 3}, 1), index = tensor_of<std::int64_t>({2, 2}, {2, 0, 1, 1});
  Tensor source = numbers({2, 2}, 3);
  for (const Placement& of_x : {Placement(Shard(0)), Placement(Shard(1))})
    for (const Placement& of_index : {Placement(Shard(0)), Placement(Shard(1))}) {
      Tensor a = laid(x, mesh, {of_x}), i = laid(index, mesh, {of_index});
      EXPECT_SAME_BITS(joined(gather(a, 1, i)), gather(x, 1, index));
      EXPECT_SAME_BITS(joined(scatter_add(a, 1, i, laid(source, mesh, {of_index}))),
                       scatter_add(x, 1, index, source));
    }
}

// 130725: the backward pass of an embedding that is split by rows found no mask.
SIMMESH_TEST(KnownPropagationFaults, EmbeddingBySplitRows130725, {.mesh = {3}, .schedules = 4}) {
  Tensor indices = tensor_of<std::int64_t>({4}, {0, 4, 2, 4});
  for (const Placement& of_indices : {whole, Placement(Shard(0))})
    expect_like_one_device(mesh, "embedding", {{{5, 2}, {Shard(0)}}}, [&](Given x) {
      bool is_distributed = x[0].distribution() != nullptr;
      return Outputs{embedding(x[0], is_distributed ? laid(indices, mesh, {of_indices}) : indices)};
    });
}

// 2.13 and 2.15: a table with fewer rows than ranks raised.
SIMMESH_TEST(KnownPropagationFaults, EmbeddingOfFewerRowsThanRanks213,
             {.mesh = {4}, .schedules = 4}) {
  Tensor indices = tensor_of<std::int64_t>({3}, {1, 0, 1}), table = numbers({2, 3});
  Tensor rows = embedding(laid(table, mesh, {Shard(0)}), laid(indices, mesh, {whole}));
  EXPECT_SAME_BITS(joined(rows), embedding(table, indices));
}

// 2.13 and 2.15: a masked partial sum beside a shard on an inner mesh dim couldn't be replicated.
SIMMESH_TEST(KnownPropagationFaults, MaskedSumsBesideAnInnerShard213,
             {.mesh = {2, 2}, .schedules = 4}) {
  Tensor indices = tensor_of<std::int64_t>({4}, {3, 0, 2, 1}), table = numbers({4, 4});
  for (const Placements& of_table : {Placements{Shard(0), Shard(1)}, Placements{Shard(0), Shard(0)},
                                     Placements{Shard(1), Shard(0)}})
    for (const Placements& of_indices :
         {Placements{whole, whole}, Placements{whole, Shard(0)}, Placements{Shard(0), whole}}) {
      Tensor rows = embedding(laid(table, mesh, of_table), laid(indices, mesh, of_indices));
      EXPECT_SAME_BITS(joined(rows), embedding(table, indices));
    }
}

// 2.13 and 2.15: a mean over uneven shards averaged the shards' means alike.
SIMMESH_TEST(KnownPropagationFaults, MeanLossesOfUnevenShards213,
             {.mesh = {2}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  expect_like_one_device(mesh, "mse_loss", {{{5, 3}, {Shard(0)}}, {{5, 3}, {Shard(0)}}},
                         [](Given x) { return Outputs{mse_loss(x[0], x[1])}; });
  expect_like_one_device(
      mesh, "binary_cross_entropy_with_logits", {{{3, 2}, {Shard(0)}}, {{3, 2}, {whole}}},
      [](Given x) { return Outputs{binary_cross_entropy_with_logits(x[0], x[1].detach())}; });
}

// 185167: the mean of weighted losses was the average of the ranks' means.
SIMMESH_TEST(KnownPropagationFaults, WeightedMeanLosses185167,
             {.mesh = {2}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  Tensor target = tensor_of<std::int64_t>({5}, {0, 2, -100, 1, 2});
  Tensor weight = tensor_of<float>({3}, {1, 4, 16});
  for (LossReduction reduction : {LossReduction::mean, LossReduction::sum, LossReduction::none})
    for (const Placement& placement : {Placement(Shard(0)), Placement(Shard(1)), total})
      expect_like_one_device(mesh, "cross_entropy", {{{5, 3}, {placement}}}, [&](Given x) {
        bool is_distributed = x[0].distribution() != nullptr;
        ClassLoss options{.weight = is_distributed ? laid(weight, mesh, {whole}) : weight,
                          .reduction = reduction};
        Tensor classes = is_distributed ? laid(target, mesh, {Shard(0)}) : target;
        return Outputs{cross_entropy(x[0], classes, options)};
      });
}

// 2.13 and 2.15: loss-parallel raised on a rank without classes.
SIMMESH_TEST(KnownPropagationFaults, LossParallelWithoutClasses213,
             {.mesh = {4}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  Tensor target = tensor_of<std::int64_t>({3}, {1, 0, 1}), logits = numbers({3, 2});
  Tensor loss =
      loss_parallel_cross_entropy(laid(logits, mesh, {Shard(1)}), laid(target, mesh, {whole}));
  EXPECT_SAME_BITS(joined(loss), cross_entropy(logits, target));
}

// 2.13 and 2.15: convolutions of partial or channel-sharded images, or of a batch that is cut
// twice, had other values.
SIMMESH_TEST(KnownPropagationFaults, ConvolutionsOfEveryLayout213,
             {.mesh = {2, 2}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (const Placements& of_images :
       {Placements{total, Shard(0)}, Placements{Shard(1), Shard(1)}, Placements{Shard(0), Shard(0)},
        Placements{Shard(2), Shard(3)}, Placements{total, total}})
    expect_like_one_device(mesh, "conv2d",
                           {{{3, 2, 4, 4}, of_images}, {{3, 2, 2, 2}, {whole, Shard(0)}}},
                           [](Given x) {
                             return Outputs{conv2d(x[0], x[1], {}, {.padding = {1, 1}})};
                           });
}

// 2.13: a convolution took the world's ranks for those of its mesh.
SIMMESH_TEST(
    KnownPropagationFaults, ConvolutionsOnASubMesh213,
    {.mesh = {2, 2}, .names = {"dp", "tp"}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (const char* name : {"dp", "tp"})
    for (std::int64_t dim : {0, 3})
      expect_like_one_device(mesh[name], "conv2d",
                             {{{2, 2, 2, 8}, {Shard(dim)}}, {{3, 2, 2, 2}, {whole}}}, [](Given x) {
                               return Outputs{conv2d(x[0], x[1], {}, {.stride = {2, 2}})};
                             });
}

// 191926, 187373, 133499: with some gradients left out, the others had wrong placements.
SIMMESH_TEST(KnownPropagationFaults, GradientsOfSomeInputsOnly191926,
             {.mesh = {2}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  auto detached = [](const Tensor& x, bool is_kept) { return is_kept ? x : x.detach(); };
  for (int kept : {1, 2, 3}) {
    bool keeps_x = (kept & 1) != 0, keeps_weight = (kept & 2) != 0;
    expect_like_one_device(
        mesh, "layer_norm", {{{4, 2}, {Shard(0)}}, {{2}, {whole}}}, [=](Given x) {
          return Outputs{
              layer_norm(detached(x[0], keeps_x), Dims{2}, detached(x[1], keeps_weight))};
        });
    expect_like_one_device(mesh, "rms_norm", {{{4, 2}, {Shard(0)}}, {{2}, {whole}}}, [=](Given x) {
      return Outputs{rms_norm(detached(x[0], keeps_x), Dims{2}, detached(x[1], keeps_weight))};
    });
    expect_like_one_device(
        mesh, "conv2d", {{{4, 2, 3, 3}, {Shard(0)}}, {{3, 2, 2, 2}, {whole}}}, [=](Given x) {
          return Outputs{conv2d(detached(x[0], keeps_x), detached(x[1], keeps_weight))};
        });
  }
}

// 2.15: the mean became partial where two mesh dims cut the normalized dim, and an addition in
// place refused it.
SIMMESH_TEST(KnownPropagationFaults, RmsNormOverADimThatIsCutTwice215,
             {.mesh = {2, 2}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (const Placements& placements :
       {Placements{Shard(1), Shard(1)}, Placements{Shard(0), Shard(1)}})
    expect_like_one_device(mesh, "rms_norm", {{{2, 8}, placements}, {{8}, {whole, whole}}},
                           [](Given x) { return Outputs{rms_norm(x[0], Dims{8}, x[1])}; });
}

// 2.13 and 2.15: causal attention by plain products always failed.
SIMMESH_TEST(KnownPropagationFaults, CausalAttentionByPlainProducts213,
             {.mesh = {2}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (const Placement& placement :
       {Placement(Shard(0)), Placement(Shard(1)), Placement(Shard(2)), total})
    expect_like_one_device(
        mesh, "attention",
        {{{2, 2, 3, 4}, {placement}}, {{2, 2, 3, 4}, {placement}}, {{2, 2, 3, 4}, {placement}}},
        [](Given x) {
          return Outputs{scaled_dot_product_attention(x[0], x[1], x[2], {.is_causal = true})};
        });
}

// 2.15: pooling raised on a rank without channels.
SIMMESH_TEST(KnownPropagationFaults, PoolingWithoutChannels215, {.mesh = {4}, .schedules = 4}) {
  Pooling2d options{.kernel = {2, 2}};
  for (std::int64_t dim : {0, 1})
    expect_like_one_device(mesh, "pooling", {{{2, 3, 4, 4}, {Shard(dim)}}}, [&](Given x) {
      return Outputs{max_pool2d(x[0], options), avg_pool2d(x[0], options)};
    });
}

}  // namespace simmesh::known_faults
