#include "core/ops/kernels/matrix.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "core/arithmetic/compute.h"
#include "core/arithmetic/products/carried_product.h"
#include "core/arithmetic/products/product.h"
#include "core/arithmetic/sums/scaled_sums.h"
#include "core/arithmetic/unrounded.h"
#include "core/ops/compute_mode.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

std::int64_t batch_step(const Tensor& matrices) {
  return matrices.dim() == 2
             ? 0
             : matrices.strides()[0] * std::int64_t(bytes_per_element(matrices.dtype()));
}

DType sum_dtype(DType dtype) { return bytes_per_element(dtype) == 2 ? DType::float32 : dtype; }

// visit_rows calls f(row, addend row) with the rows of a sum and of an addend of its shape.
template <class T, class F>
void visit_rows(Tensor& sum, const Tensor& addend, F&& f) {
  Tensor rows = addend.strides().back() == 1 ? addend : addend.contiguous();
  auto values = sum.mutable_values<T>();
  auto* first = reinterpret_cast<const T*>(rows.data());
  std::size_t columns = std::size_t(sum.shape().back());
  Dims index(sum.shape().size() - 1, 0);
  DimSpan leading = DimSpan(sum.shape()).first(index.size());
  for (std::size_t begin = 0; begin < values.size(); begin += columns) {
    std::int64_t at = 0;
    for (std::size_t dim = 0; dim < index.size(); ++dim) at += index[dim] * rows.strides()[dim];
    f(values.subspan(begin, columns), gsl::span<const T>(first + at, columns));
    next_index(index, leading);
  }
}

// Writes beta * addend + alpha * sum, in the type of the sum.
template <class T>
void add_scaled(gsl::span<T> sum, gsl::span<const T> addend, const Scales& scales) {
  T alpha = T(scales.alpha), beta = T(scales.beta);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = T(alpha * sum[i] + beta * addend[i]);
}

template <class T>
void scale(gsl::span<T> sum, double factor) {
  T alpha = T(factor);
  for (T& x : sum) x = T(alpha * x);
}

void add_addend(Tensor& sum, const Addend& addend) {
  const Scales& scales = addend.scales;
  visit_dtype(sum.dtype(), [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool> || is_16_bit<T>)
      return;
    else if (scales.beta == 0)
      scale<T>(sum.mutable_values<T>(), scales.alpha);
    else
      visit_rows<T>(sum, expand(converted(addend.value, sum.dtype()), sum.shape()),
                    [&](auto row, auto added) { add_scaled<T>(row, added, scales); });
  });
}

// Writes beta * addend, from which sums start.
void write_start(Tensor& sum, const Addend& addend) {
  if (addend.scales.beta == 0) {
    std::memset(sum.mutable_data(), 0, sum.bytes());
    return;
  }
  visit_dtype(sum.dtype(), [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool> && !is_16_bit<T>)
      visit_rows<T>(sum, expand(converted(addend.value, sum.dtype()), sum.shape()),
                    [beta = T(addend.scales.beta)](auto row, auto added) {
                      for (std::size_t i = 0; i < row.size(); ++i) row[i] = T(beta * added[i]);
                    });
  });
}

// Returns alpha * a, in the type of the sums.
Tensor scaled_factor(const Tensor& a, double alpha, DType dtype) {
  Tensor result = converted(a, dtype).clone();
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool> && !is_16_bit<T>)
      for (T& x : result.mutable_values<T>()) x = T(T(alpha) * x);
  });
  return result;
}

// visit_products calls f(product) for each matrix of a batch.
template <class F>
void visit_products(const Tensor& a, const Tensor& b, Tensor& out, F&& f) {
  std::int64_t dims = out.dim(), rows = out.size(dims - 2), columns = out.size(dims - 1);
  Product product = {.rows = rows,
                     .columns = columns,
                     .depth = a.size(a.dim() - 1),
                     .a = product_operand(a),
                     .b = product_operand(b),
                     .result = out.mutable_data(),
                     .result_dtype = out.dtype(),
                     .result_row_stride = columns};
  std::int64_t batches = dims == 2 ? 1 : out.size(0);
  for (std::int64_t i = 0; i < batches; ++i) {
    f(product);
    product.a.data += batch_step(a);
    product.b.data += batch_step(b);
    product.result += rows * columns * std::int64_t(bytes_per_element(out.dtype()));
  }
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

// Writes sums, rounded once; in a scope of KeepUnrounded they are kept unrounded too.
void write_sums(Tensor& out, CarriedSums sums) {
  if (keeps_unrounded())
    write_unrounded(out, std::move(sums));
  else
    sums.round(out.mutable_data(), out.dtype());
}

void write_exact_product(const Tensor& a, const Tensor& b, const Addend& addend, Tensor& out) {
  std::int64_t batches = out.dim() == 2 ? 1 : out.size(0);
  if (out.numel() == 0) return;
  Tensor flat = out.view(Dims{out.numel()});
  std::int64_t size = out.numel() / batches;
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
    write_sums(target, std::move(sums));
  }
}

// True if an addend is one more term of the product: a row or a column that is added unscaled.
bool is_one_term(const Addend& addend, const Tensor& out) {
  const Tensor& value = addend.value;
  if (!value.is_defined() || addend.scales.alpha != 1 || addend.scales.beta != 1) return false;
  if (out.dim() != 2 || value.dim() > 2) return false;
  return value.dim() < 2 || value.size(0) == 1 || value.size(1) == 1;
}

// Computes [a, 1] [b; row] or [a, column] [b; 1]: sums without a second rounding at the speed of a
// product.
void multiply_with_term(const Tensor& a, const Tensor& b, const Tensor& value, Tensor& out) {
  Shape column = {out.size(0), 1}, row = {1, out.size(1)};
  bool is_column = value.dim() == 2 && value.size(1) == 1;
  Tensor one = full({1, 1}, out.dtype(), 1);
  Tensor left[] = {a, expand(is_column ? value : one, column)};
  Tensor right[] = {b, expand(is_column ? one : value, row)};
  multiply(cat(left, 1), cat(right, 0), out);
}

void add_terms(const Tensor& a, const Tensor& b, double alpha, Tensor& sum) {
  if (a.size(a.dim() - 1) == 0) return;
  Tensor factor = alpha == 1 ? a : scaled_factor(a, alpha, sum.dtype());
  visit_products(factor, b, sum, [](Product& product) {
    product.adds_to_result = true;
    canonical_product(product);
  });
}

}  // namespace

Tensor rows_of(const Tensor& x) {
  if (x.dim() == 2) return x;
  std::int64_t columns = x.shape().back(), rows = 1;
  for (std::int64_t dim = 0; dim + 1 < x.dim(); ++dim) rows *= x.size(dim);
  return reshape(x, {rows, columns});
}

ProductOperand product_operand(const Tensor& matrices) {
  std::size_t dims = matrices.shape().size();
  return {.data = matrices.data(),
          .dtype = matrices.dtype(),
          .row_stride = matrices.strides()[dims - 2],
          .column_stride = matrices.strides()[dims - 1]};
}

void multiply(const Tensor& a, const Tensor& b, Tensor& out) {
  if (out.numel() == 0) return;
  if (keeps_unrounded() && is_floating_point(out.dtype()))
    return write_exact_product(a, b, {Tensor(), {}}, out);
  if (a.size(a.dim() - 1) == 0) {
    std::memset(out.mutable_data(), 0, out.bytes());
    return;
  }
  const Arithmetic& arithmetic = current_arithmetic();
  visit_products(a, b, out, [&](const Product& product) { compute(arithmetic, product); });
}

void multiply_and_add(const Tensor& a, const Tensor& b, const Addend& addend, Tensor& out) {
  bool is_finite = std::isfinite(addend.scales.alpha) && std::isfinite(addend.scales.beta);
  if (current_arithmetic().is_exact() && is_finite && is_floating_point(out.dtype())) {
    if (!keeps_unrounded() && is_one_term(addend, out))
      return multiply_with_term(a, b, addend.value, out);
    return write_exact_product(a, b, addend, out);
  }
  if (out.numel() == 0) return;
  DType dtype = sum_dtype(out.dtype());
  Tensor sum = dtype == out.dtype() ? out : empty(out.shape(), dtype);
  if (addend.starts_sums) {
    write_start(sum, addend);
    add_terms(a, b, addend.scales.alpha, sum);
  } else {
    multiply(a, b, sum);
    add_addend(sum, addend);
  }
  if (dtype != out.dtype()) copy_(out, converted(sum, out.dtype()));
}

}  // namespace simmesh
