#include "core/arithmetic/unrounded.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/arithmetic/compute.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/scaled_sums.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Returns a tensor whose sums are 1e20 + x, of which float32 holds only 1e20.
Tensor with_small_rests(const Tensor& rests) {
  Tensor large = full(rests.shape(), DType::float32, 1e20);
  auto count = rests.numel();
  CarriedSums parts[] = {carried_terms(large.data(), DType::float32, count),
                         carried_terms(rests.data(), DType::float32, count)};
  Tensor result = empty(rests.shape(), DType::float32);
  write_unrounded(result, sum_of(parts));
  return result;
}

// Returns the rest when 1e20 is taken away again: all of the rests where nothing was rounded.
Tensor rests_of(const Tensor& tensor) {
  Tensor rows = tensor.contiguous();
  Tensor large = full(rows.shape(), DType::float32, -1e20);
  CarriedSums parts[] = {unrounded(rows),
                         carried_terms(large.data(), DType::float32, rows.numel())};
  Tensor result = empty(rows.shape(), DType::float32);
  sum_of(parts).round(result.mutable_data(), DType::float32);
  return result;
}

Tensor small_values() { return formula({4, 6}, {.rule = Rule::unit, .seed = 3}); }

TEST(Unrounded, IsBehindViewsAndCopies) {
  Tensor rests = small_values(), whole = with_small_rests(rests);
  EXPECT_TRUE(is_unrounded(whole));
  EXPECT_TRUE(same_bits(rests_of(whole), rests));
  Tensor rows = whole.narrow({.dim = 0, .start = 1, .length = 2});
  EXPECT_TRUE(same_bits(rests_of(rows), rests.narrow({.dim = 0, .start = 1, .length = 2})));
  Tensor columns = whole.narrow({.dim = 1, .start = 2, .length = 3}).transpose(0, 1);
  EXPECT_TRUE(
      same_bits(rests_of(columns),
                rests.narrow({.dim = 1, .start = 2, .length = 3}).transpose(0, 1).contiguous()));
  EXPECT_TRUE(same_bits(rests_of(whole.clone()), rests));
  Tensor other = zeros({4, 6}, DType::float32);
  adopt_(other, whole);
  EXPECT_TRUE(same_bits(rests_of(other), rests));
}

TEST(Unrounded, EndsInARoundedCopy) {
  Tensor rests = small_values(), whole = with_small_rests(rests);
  Tensor copy = rounded(whole);
  EXPECT_FALSE(is_unrounded(copy));
  EXPECT_TRUE(same_bits(copy, full({4, 6}, DType::float32, 1e20)));
  EXPECT_TRUE(same_bits(rests_of(whole), rests)) << "the other one keeps what is behind it";
  EXPECT_EQ(rounded(rests).storage(), rests.storage()) << "nothing is copied";
}

// A flat buffer as bucketing makes it: pieces at offsets, strided ones too, between plain elements.
TEST(Unrounded, IsCopiedIntoPlaces) {
  Tensor rests = small_values(), whole = with_small_rests(rests);
  Tensor flat = full({40}, DType::float32, 1e20);
  Tensor first = flat.narrow({.dim = 0, .start = 2, .length = 12}).view(Dims{2, 6});
  copy_(first, whole.narrow({.dim = 0, .start = 2, .length = 2}));
  Tensor second = flat.narrow({.dim = 0, .start = 20, .length = 8}).view(Dims{2, 4});
  copy_(second, whole.narrow({.dim = 1, .start = 4, .length = 2}).transpose(0, 1));
  Tensor expected = zeros({40}, DType::float32);
  Tensor to = expected.narrow({.dim = 0, .start = 2, .length = 12}).view(Dims{2, 6});
  copy_(to, rests.narrow({.dim = 0, .start = 2, .length = 2}));
  to = expected.narrow({.dim = 0, .start = 20, .length = 8}).view(Dims{2, 4});
  copy_(to, rests.narrow({.dim = 1, .start = 4, .length = 2}).transpose(0, 1));
  EXPECT_TRUE(same_bits(rests_of(flat), expected));
  EXPECT_FALSE(is_unrounded(flat.narrow({.dim = 0, .start = 14, .length = 6})));
}

// Whatever else writes an element takes it as it then is, and no other.
TEST(Unrounded, EndsWhereElementsAreWritten) {
  Tensor rests = small_values(), whole = with_small_rests(rests);
  Tensor kept = whole.clone();
  Tensor row = whole.narrow({.dim = 0, .start = 1, .length = 1});
  row.mutable_values<float>()[0] = 5;
  EXPECT_FALSE(is_unrounded(row));
  EXPECT_TRUE(is_unrounded(whole));
  Tensor others = whole.narrow({.dim = 0, .start = 2, .length = 2});
  EXPECT_TRUE(same_bits(rests_of(others), rests.narrow({.dim = 0, .start = 2, .length = 2})));
  EXPECT_TRUE(same_bits(rests_of(kept), rests)) << "of other owners of the bytes";
  copy_(whole, rests);
  EXPECT_FALSE(is_unrounded(whole));
}

Tensor reduced(gsl::span<const Tensor> operands, ReduceOp op, bool keeps = false,
               double factor = 1.0) {
  Tensor result = empty(operands[0].shape(), operands[0].dtype());
  reduce_unrounded({.op = op, .factor = factor, .operands = operands}, result, keeps);
  return result;
}

// Two levels of reductions, as over two mesh dims, are one. Tensors joined along an inner dim
// alternate in memory: a write to one keeps the others' sums.
TEST(Unrounded, StaysBetweenWhatIsWritten) {
  Tensor left = small_values(), right = formula({4, 3}, {.rule = Rule::unit, .seed = 5});
  Tensor joined = zeros({4, 9}, DType::float32);
  Tensor first = joined.narrow({1, 0, 6}), last = joined.narrow({1, 6, 3});
  copy_(first, with_small_rests(left));
  Tensor seen = joined.clone();  // the write must make a copy of its own
  copy_(last, with_small_rests(right));
  EXPECT_TRUE(same_bits(rests_of(first), left));
  EXPECT_TRUE(same_bits(rests_of(last), right));
  EXPECT_TRUE(same_bits(rests_of(seen.narrow({1, 0, 6})), left));
  // Rounded elements end the unrounded sums of the elements that they replace, and only of these.
  copy_(last, right);
  EXPECT_TRUE(same_bits(rests_of(first), left));
  EXPECT_FALSE(is_unrounded(last.contiguous()));
  copy_(first, with_small_rests(left));
  EXPECT_TRUE(same_bits(rests_of(first), left));
}

TEST(Unrounded, GroupsOfReductionsAreOneReduction) {
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16}) {
    std::vector<Tensor> all;
    for (std::uint64_t rank = 0; rank < 6; ++rank)
      all.push_back(formula({5000}, {.rule = Rule::wide, .seed = rank, .dtype = dtype}));
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
      Tensor pair = reduced(gsl::span(all.data(), 2), op, true);
      Tensor other = reduced(gsl::span(all.data() + 2, 2), op, true);
      Tensor third = reduced(gsl::span(all.data() + 4, 2), op, true);
      Tensor parts[] = {third, pair, other};
      EXPECT_TRUE(same_bits(reduced(parts, op), reduced(all, op)))
          << to_string(dtype) << " " << to_string(op);
    }
  }
}

// An average is divided before it is rounded; a factor is rounded to the dtype, and no product is.
TEST(Unrounded, RoundsOnce) {
  Tensor terms[] = {tensor_of<float>({1}, {1}), tensor_of<float>({1}, {0x1p-24f}),
                    tensor_of<float>({1}, {0x1p-50f})};
  EXPECT_EQ(reduced(terms, ReduceOp::sum).values<float>()[0], 1 + 0x1p-23f);
  EXPECT_EQ(reduced(terms, ReduceOp::avg).values<float>()[0], float((1 + 0x1p-24 + 0x1p-50) / 3.0));
  EXPECT_EQ(reduced(terms, ReduceOp::premul_sum, false, 0.1).values<float>()[0],
            float((1 + 0x1p-24 + 0x1p-50) * double(0.1f)));
}

// The others' sums include one part's infinity, whatever the way.
TEST(Unrounded, InfinitiesAreKept) {
  Tensor terms[] = {tensor_of<float>({3}, {infinity, infinity, 1}),
                    tensor_of<float>({3}, {1, -infinity, 2})};
  Tensor pair = reduced(terms, ReduceOp::sum, true);
  Tensor again[] = {tensor_of<float>({3}, {-1e30f, 1, 3}), pair};
  auto values = reduced(again, ReduceOp::avg);
  EXPECT_EQ(values.values<float>()[0], infinity);
  EXPECT_TRUE(std::isnan(values.values<float>()[1]));
  EXPECT_EQ(values.values<float>()[2], 3);
}

// Thirds and fifths meet over fifteen.
TEST(Unrounded, SumsOverDifferentDivisorsMeet) {
  Tensor one = tensor_of<double>({1}, {1}), two = tensor_of<double>({1}, {2});
  CarriedSums parts[] = {divided(unrounded(one), 3), divided(unrounded(two), 5),
                         divided(unrounded(one), -15)};
  EXPECT_EQ(sum_of(parts).rounded(0, DType::float64), 2.0 / 3);
}

// The least common multiple of these is beyond 64 bits: each part is rounded to float64 first.
TEST(Unrounded, SumsWithoutACommonDivisorAreRoundedFirst) {
  Tensor one = tensor_of<double>({1}, {1});
  double first = 0x1p52 + 1, second = 0x1p53 - 1;
  CarriedSums parts[] = {divided(unrounded(one), first), divided(unrounded(one), second)};
  EXPECT_EQ(sum_of(parts).rounded(0, DType::float64), 1 / first + 1 / second);
}

}  // namespace
}  // namespace simmesh
