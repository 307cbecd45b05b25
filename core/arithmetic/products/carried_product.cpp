#include "core/arithmetic/products/carried_product.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/arithmetic/products/exact_elements.h"
#include "core/arithmetic/products/sliced_product.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/exact_sums.h"

namespace simmesh {

CarriedSums carried_product(const Product& product, InstructionSet set) {
  std::int64_t count = product.rows * product.columns;
  if (count == 0 || product.depth == 0) return CarriedSums::zeros(count);
  const Kernels& kernels = kernels_of(set);
  SliceFactors factors =
      can_multiply_integers(kernels) ? SliceFactors::integers : SliceFactors::floats;
  return SlicedProduct(product, kernels, factors).run();
}

// Nearly all sums fit into two doubles; the others are computed one by one.
CarriedSums carried_sum(const SumRequest& r, InstructionSet set) {
  std::vector<TripleSum> triples = triple_sums(r, kernels_of(set));
  std::vector<std::pair<std::int64_t, CarriedSums>> long_sums;
  std::vector<double> halves;
  for (std::size_t i = 0; i < triples.size(); ++i) {
    std::optional<TwoSum> pair = triples[i].exact();
    if (!pair) long_sums.emplace_back(i, long_sum(r, std::int64_t(i)));
    halves.push_back(pair ? pair->sum : 0);
    halves.push_back(pair ? pair->rest : 0);
  }
  LineBits bits = line_bits(halves);
  DigitRange range = DigitRange::of_bits(bits.lowest, bits.highest, 2);
  for (const auto& [i, sum] : long_sums)
    range = range.joined({sum.low(), std::max(sum.digit_count(), 1)});
  DigitSums sums(r.outer * r.inner, range);
  for (std::size_t i = 0; i < halves.size(); ++i) sums.add(std::int64_t(i / 2), halves[i]);
  for (const auto& [i, sum] : long_sums) sums.add_sums(sum, i);
  return sums.take();
}

}  // namespace simmesh
