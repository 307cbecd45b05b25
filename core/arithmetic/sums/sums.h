#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>

#include "core/kernels/instruction_set.h"
#include "core/tensor/dtype.h"

namespace simmesh {

// SumTerm is what is added up of each element x.
enum class SumTerm : std::uint8_t {
  identity,           // x
  square,             // x^2
  absolute,           // |x|
  squared_deviation,  // (x - mean)^2, with the mean of the element's sum given
};

// SumRequest is outer * inner sums of count terms each: over the middle dim of contiguous data of
// [outer, count, inner]. Sum (o, i) is entry o * inner + i of means, totals and result.
struct SumRequest {
  const std::byte* data = nullptr;
  DType dtype = DType::float32;
  std::int64_t outer = 1;
  std::int64_t count = 0;
  std::int64_t inner = 1;
  SumTerm term = SumTerm::identity;
  gsl::span<const double> means = {};  // of squared_deviation

  gsl::span<double> totals = {};  // where not empty, takes the sums as double
  std::byte* result = nullptr;    // where given, takes the sums, rounded once to result_dtype
  DType result_dtype = DType::float32;
};

// canonical_sum adds each sum as one chain, index ascending from +0, in float32 (float64 for
// float64; int64, wrapping, for integers and bool). A term is first computed in the accumulator's
// type, each operation rounded. Raises a TypeError for a result of another kind than the data
// (integer sums go to int64, int32 or uint8, wrapping), and for squared_deviation of integers.
void canonical_sum(const SumRequest& request, InstructionSet set = best_instruction_set());

// check_sums raises a TypeError where the request's dtypes or terms don't go together.
void check_sums(const SumRequest& request);

}  // namespace simmesh
