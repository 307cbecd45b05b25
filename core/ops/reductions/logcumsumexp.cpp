#include "core/ops/reductions/logcumsumexp.h"

#include <cmath>
#include <limits>

#include "core/arithmetic/functions.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/places.h"
#include "core/ops/op_list.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

constexpr double lowest = -std::numeric_limits<double>::infinity();

// Returns exp(lesser - larger) for elements that may be infinite.
double ratio(double lesser, double larger) {
  if (lesser == lowest) return 0;
  return lesser == larger ? 1 : apply_function(Function::exp, lesser - larger);
}

double log_of_sum(double a, double b) {
  if (a != a || b != b) return a + b;
  double larger = a > b ? a : b, lesser = a > b ? b : a;
  if (std::isinf(larger)) return larger;
  return larger + apply_function(Function::log1p, ratio(lesser, larger));
}

// Lines are the lines along a dim of tensors of one shape, in double.
struct Lines {
  std::vector<Folded> tensors;
  std::size_t count = 1, inner = 1;

  std::size_t begin(std::int64_t line) const {
    return std::size_t(line) / inner * count * inner + std::size_t(line) % inner;
  }
  double at(std::size_t tensor, std::size_t place) const {
    return tensors[tensor].data.values<double>()[place];
  }
};

Lines lines_of(gsl::span<const Tensor> inputs, const Attributes& attributes) {
  Lines lines;
  for (const Tensor& input : inputs) {
    Dims dims;
    if (input.dim() > 0) dims.push_back(indexed_dim(attributes, input.shape()));
    lines.tensors.push_back(folded(converted(input, DType::float64), dims));
  }
  lines.count = std::size_t(lines.tensors[0].count);
  lines.inner = std::size_t(lines.tensors[0].inner);
  return lines;
}

// A kernel that walks along each line: step(lines, place, before, carry) returns the element at a
// place from the inputs there and at the previous place, which is the place itself for the first
// one. carry is a number that is passed along, zero at first.
using LineStep = double (*)(const Lines& lines, std::size_t place, std::size_t before,
                            double& carry);
Kernel line_kernel(bool is_reverse, LineStep step) {
  return [is_reverse, step](gsl::span<const Tensor> inputs, const Attributes& attributes,
                            gsl::span<Tensor> outputs) {
    if (outputs[0].numel() == 0) return;
    Lines lines = lines_of(inputs, attributes);
    Tensor result = empty(outputs[0].shape(), DType::float64);
    auto out = result.mutable_values<double>();
    for (std::int64_t line = 0; line < lines.tensors[0].results(); ++line) {
      double carry = 0;
      std::size_t before = 0;
      for (std::size_t k = 0; k < lines.count; ++k) {
        std::size_t along = is_reverse ? lines.count - 1 - k : k;
        std::size_t place = lines.begin(line) + along * lines.inner;
        out[place] = step(lines, place, k == 0 ? place : before, carry);
        before = place;
      }
    }
    adopt_(outputs[0], converted(result, outputs[0].dtype()));
  };
}

TensorTypes scanned_floating_type(gsl::span<const TensorType> inputs,
                                  const Attributes& attributes) {
  indexed_dim(attributes, inputs[0].shape);
  DType dtype = inputs[0].dtype;
  return {{inputs[0].shape, is_floating_point(dtype) ? dtype : DType::float32}};
}

double reverse_step(const Lines& lines, std::size_t place, std::size_t before, double& carry) {
  double y = lines.at(2, place);
  carry = lines.at(0, place) + carry * ratio(y, lines.at(2, before));
  return carry * ratio(lines.at(1, place), y);
}

double forward_step(const Lines& lines, std::size_t place, std::size_t before, double& carry) {
  double y = lines.at(2, place);
  carry = lines.at(0, place) * ratio(lines.at(1, place), y) + carry * ratio(lines.at(2, before), y);
  return carry;
}

const Op reverse_scan_op = {.name = "_logcumsumexp_backward",
                            .shape = scanned_floating_type,
                            .kernel = line_kernel(true, reverse_step)};
const Op forward_scan_op = {.name = "_logcumsumexp_forward",
                            .shape = scanned_floating_type,
                            .kernel = line_kernel(false, forward_step)};

const Op logcumsumexp_op = {
    .name = "logcumsumexp",
    .shape = scanned_floating_type,
    .kernel =
        line_kernel(false,
                    [](const Lines& lines, std::size_t place, std::size_t before, double& carry) {
                      double x = lines.at(0, place);
                      carry = before == place ? x : log_of_sum(carry, x);
                      return carry;
                    }),
};

}  // namespace

Tensor logcumsumexp(const Tensor& x, std::int64_t dim) {
  return call_one(logcumsumexp_op, {x}, {attribute::dim = wrapped_dim(dim, x.shape().size())});
}

Tensor logcumsumexp_reverse(const Tensor& weights, const Tensor& x, const Tensor& y,
                            std::int64_t dim) {
  return call_one(reverse_scan_op, {weights, x, y}, {attribute::dim = dim});
}

Tensor logcumsumexp_forward(const Tensor& weights, const Tensor& x, const Tensor& y,
                            std::int64_t dim) {
  return call_one(forward_scan_op, {weights, x, y}, {attribute::dim = dim});
}

void logcumsumexp_ops(OpList& ops) {
  ops.add({&logcumsumexp_op, &reverse_scan_op, &forward_scan_op});
}

}  // namespace simmesh
