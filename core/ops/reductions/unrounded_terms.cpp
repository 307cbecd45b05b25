#include "core/ops/reductions/unrounded_terms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/arithmetic/carried_product.h"
#include "core/arithmetic/digit_sums.h"
#include "core/arithmetic/scaled_sums.h"
#include "core/arithmetic/unrounded.h"
#include "core/ops/compute_mode.h"
#include "core/ops/number.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

bool are_floating(gsl::span<const Tensor> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const Tensor& input) {
    return input.is_defined() && is_floating_point(input.dtype());
  });
}

// The sums over the middle dim of [outer, count, inner].
CarriedSums summed(const Folded& terms) {
  CarriedSums all = unrounded(terms.data);
  std::vector<CarriedSums> parts;
  std::vector<std::int64_t> indices(std::size_t(terms.results()));
  for (std::int64_t k = 0; k < terms.count; ++k) {
    for (std::int64_t i = 0; i < terms.results(); ++i)
      indices[std::size_t(i)] = (i / terms.inner * terms.count + k) * terms.inner + i % terms.inner;
    parts.push_back(all.taken(indices));
  }
  return parts.empty() ? CarriedSums::zeros(terms.results()) : sum_of(parts);
}

CarriedSums behind(const Tensor& operand, const Shape& shape) {
  return unrounded(operand.shape() == shape ? operand : expand(operand, shape));
}

CarriedSums product_of(const Tensor& a, const Tensor& b) {
  if (a.size(1) == 0) return CarriedSums::zeros(a.size(0) * b.size(1));
  return carried_product({.rows = a.size(0),
                          .columns = b.size(1),
                          .depth = a.size(1),
                          .a = product_operand(a),
                          .b = product_operand(b)});
}

Tensor matrix_of(const Tensor& batch, std::int64_t i) {
  return batch.dim() == 2 ? batch : batch.narrow({.dim = 0, .start = i, .length = 1}).squeeze(0);
}

bool add_unrounded(gsl::span<const Tensor> inputs, const Attributes& attributes, Tensor& out) {
  if (inputs.size() != 2 || !are_floating(inputs) || !is_floating_point(out.dtype())) return false;
  auto alpha = number_in(attributes, "alpha");
  double factor = alpha ? alpha->as<double>() : 1.0;
  if (!std::isfinite(factor)) return false;
  if (out.element_count() == 0) return true;
  CarriedSums terms[] = {behind(inputs[0], out.shape()),
                         scaled(behind(inputs[1], out.shape()), factor)};
  write_unrounded(out, sum_of(terms));
  return true;
}

bool divide_unrounded(gsl::span<const Tensor> inputs, const Attributes& attributes, Tensor& out) {
  auto other = number_in(attributes, "other");
  if (inputs.size() != 1 || !other || !is_unrounded(inputs[0])) return false;
  double divisor = other->as<double>();
  if (!std::isfinite(divisor) || divisor == 0) return false;
  CarriedSums sums = unrounded(inputs[0]);
  if (!can_be_divided(sums, divisor)) return false;
  write_unrounded(out, divided(sums, divisor));
  return true;
}

using Write = bool (*)(gsl::span<const Tensor>, const Attributes&, Tensor&);

Op with_unrounded(Op op, Write write) {
  op.kernel = [plain = std::move(op.kernel), write](gsl::span<const Tensor> inputs,
                                                    const Attributes& attributes,
                                                    gsl::span<Tensor> outputs) {
    if (!keeps_unrounded() || !write(inputs, attributes, outputs[0]))
      plain(inputs, attributes, outputs);
  };
  return op;
}

}  // namespace

CarriedSums unrounded_fold(const Folded& terms) {
  return is_unrounded(terms.data) ? summed(terms) : carried_sum(terms.request(SumTerm::identity));
}

void write_unrounded_product(const Tensor& a, const Tensor& b, const Addend& addend, Tensor& out) {
  std::int64_t batches = out.dim() == 2 ? 1 : out.size(0);
  if (out.element_count() == 0) return;
  Tensor flat = out.view(Dims{out.element_count()});
  std::int64_t size = out.element_count() / batches;
  const Scales& scales = addend.scales;
  Tensor added;
  if (addend.value.is_defined() && scales.beta != 0) added = expand(addend.value, out.shape());
  for (std::int64_t i = 0; i < batches; ++i) {
    CarriedSums sums = scaled(product_of(matrix_of(a, i), matrix_of(b, i)), scales.alpha);
    if (added.is_defined()) {
      CarriedSums terms[] = {std::move(sums), scaled(unrounded(matrix_of(added, i)), scales.beta)};
      sums = sum_of(terms);
    }
    Tensor target = flat.narrow({.dim = 0, .start = i * size, .length = size});
    write_unrounded(target, std::move(sums));
  }
}

void write_unrounded_blocks(const BlockSum& sum, Tensor& out) {
  if (out.element_count() == 0) return;
  CarriedSums source = scaled(unrounded(sum.source), sum.alpha);
  std::vector<CarriedSums> parts = {unrounded(sum.x)};
  DigitRange range =
      DigitRange::of_bits(32 * source.low(), 32 * (source.low() + source.digit_count()),
                          std::int64_t(sum.places.size()));
  DigitSums blocks(out.element_count(), range);
  CarriedSums terms = over_one(source, source.divisor());
  for (std::size_t i = 0; i < sum.places.size(); ++i)
    if (sum.places[i] >= 0)
      blocks.add_sums(terms.slice({std::int64_t(i) * sum.block, sum.block}),
                      sum.places[i] * sum.block);
  parts.push_back(blocks.take(source.divisor()));
  write_unrounded(out, sum_of(parts));
}

Tensor converted_unrounded(const Tensor& tensor, DType dtype) {
  Tensor result = converted(tensor, dtype);
  bool goes_on = keeps_unrounded() && is_floating_point(dtype) && result.has_elements() &&
                 tensor.dtype() != dtype && is_unrounded(tensor);
  if (goes_on) write_unrounded(result, unrounded(tensor));
  return result;
}

Op adding_unrounded(Op add) { return with_unrounded(std::move(add), add_unrounded); }
Op dividing_unrounded(Op div) { return with_unrounded(std::move(div), divide_unrounded); }

}  // namespace simmesh
