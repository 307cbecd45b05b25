#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/engine/world.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "tests/core/arithmetic/exact_oracle.h"

// 100,000 random sums in exact arithmetic, cut over micro-batches, ranks, buckets and mesh dims in
// random ways, against a long integer of another library.
namespace simmesh {
namespace {

constexpr std::int64_t sums_at_once = 900;
constexpr std::size_t ranks = 6;

// Cut is one way to add up what the ranks have: everything but the result depends on it.
struct Cut {
  DType dtype;
  TermKind kind;
  std::uint64_t seed;
  std::size_t micro_batches;
  ReduceOp op;
  bool two_levels;     // rows of a 2x3 arrangement, then columns
  bool scatters;       // reduce-scatter and all-gather in place of an all-reduce
  std::int64_t ahead;  // elements before these in their bucket
};

Cut random_cut(DType dtype, TermKind kind, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return {.dtype = dtype,
          .kind = kind,
          .seed = seed,
          .micro_batches = 1 + random() % 4,
          .op = random() % 2 == 0 ? ReduceOp::sum : ReduceOp::avg,
          .two_levels = random() % 2 == 0,
          .scatters = random() % 2 == 0,
          .ahead = std::int64_t(random() % 7)};
}

std::vector<double> terms_of(const Cut& cut, std::size_t rank, std::size_t micro_batch) {
  std::mt19937_64 random(cut.seed * 1000 + rank * 10 + micro_batch);
  return random_terms(cut.dtype, cut.kind, std::size_t(sums_at_once), random);
}

Tensor reduced_over(const Tensor& bucket, const Cut& cut, const ProcessGroup& group) {
  if (!cut.scatters) return all_reduce(bucket, cut.op, group);
  Tensor piece = reduce_scatter(bucket, cut.op, {.uneven = true}, group);
  return all_gather(piece, {.uneven = true}, group);
}

Tensor summed_on_mesh(const Cut& cut, Rank& rank) {
  KeepUnrounded scope(cut.two_levels || cut.micro_batches > 1);
  std::vector<std::size_t> order(cut.micro_batches);
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::mt19937_64 random(cut.seed + rank.id());
  std::shuffle(order.begin(), order.end(), random);
  Tensor own;
  for (std::size_t micro_batch : order) {
    Tensor terms =
        tensor_of_terms({sums_at_once}, cut.dtype, terms_of(cut, rank.id(), micro_batch));
    own = own.is_defined() ? add(own, terms) : terms;
  }
  Tensor bucket = full({cut.ahead + sums_at_once}, cut.dtype, 1.5);
  Tensor place = bucket.narrow({.dim = 0, .start = cut.ahead, .length = sums_at_once});
  copy_(place, own);
  if (cut.two_levels) {
    auto id = std::int64_t(rank.id());
    std::int64_t first = id / 3 * 3, last = id % 3;
    bucket = reduced_over(bucket, cut,
                          ProcessGroup::of(RankList::of({first, first + 1, first + 2}), "row"));
    bucket = reduced_over(bucket, cut, ProcessGroup::of(RankList::of({last, last + 3}), "column"));
  } else {
    bucket = reduced_over(bucket, cut, ProcessGroup::world());
  }
  return bucket.narrow({.dim = 0, .start = cut.ahead, .length = sums_at_once}).clone();
}

Tensor expected_sums(const Cut& cut) {
  std::vector<ExactOracle> sums{std::size_t(sums_at_once)};
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t micro_batch = 0; micro_batch < cut.micro_batches; ++micro_batch) {
      std::vector<double> terms = terms_of(cut, rank, micro_batch);
      for (std::size_t i = 0; i < terms.size(); ++i) sums[i].add(terms[i]);
    }
  std::vector<double> values;
  for (const ExactOracle& sum : sums)
    values.push_back(sum.rounded(cut.dtype, cut.op == ReduceOp::avg ? std::int64_t(ranks) : 1));
  return tensor_of_terms({sums_at_once}, cut.dtype, values);
}

TEST(ExactSums, NoCutChangesABit) {
  constexpr const char* schedules[] = {"fifo", "seeded:7", "pct:3"};
  std::int64_t compared = 0;
  std::uint64_t seed = 0;
  while (compared < 100'000)
    for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16})
      for (TermKind kind : term_kinds) {
        Cut cut = random_cut(dtype, kind, ++seed);
        Tensor expected = expected_sums(cut);
        World world({.ranks = ranks,
                     .schedule = Schedule::parse(schedules[seed % 3]),
                     .threads = 1 + seed % 2,
                     .arithmetic = Arithmetic::exact()});
        Outcome outcome = world.run(
            [&](Rank& rank) { rank.expect_same_bits(summed_on_mesh(cut, rank), expected); });
        ASSERT_TRUE(outcome.ok()) << to_string(dtype) << ", terms " << int(kind) << ", seed "
                                  << seed << ": " << outcome.failure->message;
        compared += sums_at_once;
      }
}

}  // namespace
}  // namespace simmesh
