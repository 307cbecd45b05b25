#include "python/bindings/torch/exact_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/arithmetic/companions/exact_values.h"
#include "core/arithmetic/functions.h"
#include "core/arithmetic/sums/exact_sums.h"
#include "python/bindings/torch/tensor_layout.h"
#include "python/bindings/torch/torch_array.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

bool is_contiguous(const TensorLayout& layout) {
  std::int64_t stride = 1;
  for (std::size_t dim = layout.shape.size(); dim-- > 0; stride *= layout.shape[dim])
    if (layout.shape[dim] != 1 && layout.strides[dim] != stride) return false;
  return true;
}

// Row-major rows, each of `length` elements.
struct SoftmaxRows {
  std::vector<double> elements;
  std::int64_t length = 0;

  std::int64_t count() const { return std::int64_t(elements.size()) / length; }
};

// Returns the rows of a tensor, of which `dim` is the last one; nullopt for others.
std::optional<SoftmaxRows> rows_of(nb::handle tensor, nb::handle dim) {
  std::optional<TensorLayout> layout = layout_of(tensor);
  if (!layout || layout->is_complex || layout->shape.empty() || !is_contiguous(*layout))
    return std::nullopt;
  auto dims = std::int64_t(layout->shape.size()), number = nb::cast<std::int64_t>(dim);
  if (number != -1 && number != dims - 1) return std::nullopt;
  SoftmaxRows rows{doubles_of(element_array(tensor)), layout->shape.back()};
  return rows.elements.empty() ? std::nullopt : std::optional(std::move(rows));
}

// Subtracts from each row its largest element; false if that isn't finite.
bool subtract_largest(SoftmaxRows& rows) {
  for (std::size_t begin = 0; begin < rows.elements.size(); begin += std::size_t(rows.length)) {
    gsl::span<double> row(&rows.elements[begin], std::size_t(rows.length));
    double largest = row[0];
    for (double element : row)
      largest = element > largest || std::isnan(element) ? element : largest;
    if (!std::isfinite(largest)) return false;
    for (double& element : row) element -= largest;
  }
  return true;
}

bool are_finite(const SoftmaxRows& rows) {
  return std::all_of(rows.elements.begin(), rows.elements.end(),
                     [](double element) { return std::isfinite(element); });
}

// Writes doubles into a tensor of the dtype and rows of another; false if it is none.
bool write_rows(nb::handle target, nb::handle like, const std::vector<double>& doubles) {
  std::optional<TensorLayout> to = layout_of(target), from = layout_of(like);
  bool is_alike =
      to && to->dtype == from->dtype && is_contiguous(*to) &&
      std::equal(to->shape.begin(), to->shape.end(), from->shape.begin(), from->shape.end());
  if (!is_alike) return false;
  if (to->dtype == DType::float32) {
    std::transform(doubles.begin(), doubles.end(), reinterpret_cast<float*>(to->data),
                   [](double element) { return float(element); });
  } else {
    std::vector<std::byte> rounded = ExactValues::of_doubles(doubles).round(to->dtype);
    std::copy(rounded.begin(), rounded.end(), to->data);
  }
  return true;
}

}  // namespace

nb::object softmax_form(const FormCall& call) {
  if (call.options || call.count() != 3 || call.arg(2).ptr() != Py_False) return {};
  std::optional<SoftmaxRows> rows = rows_of(call.arg(0), call.arg(1));
  if (!rows || !subtract_largest(*rows)) return {};
  std::vector<double>& powers = rows->elements;
  apply_function<double>(Function::exp, powers, powers);
  std::vector<double> totals(std::size_t(rows->count()));
  exact_sum({.data = reinterpret_cast<const std::byte*>(powers.data()),
             .dtype = DType::float64,
             .outer = rows->count(),
             .count = rows->length,
             .totals = totals});
  for (std::size_t i = 0; i < powers.size(); ++i)
    powers[i] /= totals[i / std::size_t(rows->length)];
  nb::object result = call.call_torch();
  return write_rows(result, call.arg(0), powers) ? result : nb::object();
}

nb::object softmax_gradient_form(const FormCall& call) {
  if (call.options || call.count() != 4) return {};
  nb::handle given = call.arg(0), output = call.arg(1);
  std::optional<SoftmaxRows> gradients = rows_of(given, call.arg(2));
  std::optional<SoftmaxRows> outputs = rows_of(output, call.arg(2));
  if (!gradients || !outputs || gradients->elements.size() != outputs->elements.size() ||
      !are_finite(*gradients) || !are_finite(*outputs))
    return {};
  ExactValues products =
      ExactValues::of(element_array(given)).times(ExactValues::of(element_array(output)));
  ExactValues sums = products.summed({.outer = gradients->count(), .count = gradients->length});
  std::vector<std::byte> rounded = sums.round(DType::float64);
  gsl::span<const double> totals(reinterpret_cast<const double*>(rounded.data()),
                                 std::size_t(gradients->count()));
  std::vector<double>& results = gradients->elements;
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = outputs->elements[i] * (results[i] - totals[i / std::size_t(outputs->length)]);
  nb::object result = call.call_torch();
  return write_rows(result, output, results) ? result : nb::object();
}

}  // namespace simmesh::python
