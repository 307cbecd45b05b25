#include "core/ops/elementwise/foreach.h"

#include "core/check/error.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/statistics.h"

namespace simmesh {

namespace {

void check_lengths(std::size_t expected, std::initializer_list<std::size_t> lengths) {
  for (std::size_t length : lengths)
    if (length != expected)
      raise(ErrorKind::runtime_error, "foreach",
            "Tensor lists must have the same number of tensors, got {} and {}", expected, length);
}

template <class F>
std::vector<Tensor> mapped(std::size_t count, F f) {
  std::vector<Tensor> result;
  result.reserve(count);
  for (std::size_t i = 0; i < count; ++i) result.push_back(f(i));
  return result;
}

}  // namespace

std::vector<Tensor> foreach_add(TensorSpan a, Number b) {
  return mapped(a.size(), [&](std::size_t i) { return add(a[i], b); });
}
std::vector<Tensor> foreach_add(TensorSpan a, TensorSpan b, Number alpha) {
  check_lengths(a.size(), {b.size()});
  return mapped(a.size(), [&](std::size_t i) { return add(a[i], b[i], alpha); });
}
std::vector<Tensor> foreach_sub(TensorSpan a, TensorSpan b, Number alpha) {
  check_lengths(a.size(), {b.size()});
  return mapped(a.size(), [&](std::size_t i) { return sub(a[i], b[i], alpha); });
}
std::vector<Tensor> foreach_mul(TensorSpan a, Number b) {
  return mapped(a.size(), [&](std::size_t i) { return mul(a[i], b); });
}
std::vector<Tensor> foreach_mul(TensorSpan a, TensorSpan b) {
  check_lengths(a.size(), {b.size()});
  return mapped(a.size(), [&](std::size_t i) { return mul(a[i], b[i]); });
}
std::vector<Tensor> foreach_div(TensorSpan a, Number b) {
  return mapped(a.size(), [&](std::size_t i) { return div(a[i], b); });
}
std::vector<Tensor> foreach_div(TensorSpan a, TensorSpan b) {
  check_lengths(a.size(), {b.size()});
  return mapped(a.size(), [&](std::size_t i) { return div(a[i], b[i]); });
}
std::vector<Tensor> foreach_maximum(TensorSpan a, TensorSpan b) {
  check_lengths(a.size(), {b.size()});
  return mapped(a.size(), [&](std::size_t i) { return maximum(a[i], b[i]); });
}
std::vector<Tensor> foreach_addcmul(TensorSpan x, TensorSpan a, TensorSpan b, Number value) {
  check_lengths(x.size(), {a.size(), b.size()});
  return mapped(x.size(), [&](std::size_t i) { return addcmul(x[i], a[i], b[i], value); });
}
std::vector<Tensor> foreach_addcdiv(TensorSpan x, TensorSpan a, TensorSpan b, Number value) {
  check_lengths(x.size(), {a.size(), b.size()});
  return mapped(x.size(), [&](std::size_t i) { return addcdiv(x[i], a[i], b[i], value); });
}
std::vector<Tensor> foreach_lerp(TensorSpan start, TensorSpan end, Number weight) {
  check_lengths(start.size(), {end.size()});
  return mapped(start.size(), [&](std::size_t i) { return lerp(start[i], end[i], weight); });
}
std::vector<Tensor> foreach_neg(TensorSpan x) {
  return mapped(x.size(), [&](std::size_t i) { return neg(x[i]); });
}
std::vector<Tensor> foreach_sqrt(TensorSpan x) {
  return mapped(x.size(), [&](std::size_t i) { return sqrt(x[i]); });
}
std::vector<Tensor> foreach_norm(TensorSpan x, double p) {
  return mapped(x.size(), [&](std::size_t i) { return vector_norm(x[i], p); });
}

void foreach_add_(MutableTensorSpan self, Number other) {
  for (Tensor& tensor : self) add_(tensor, other);
}
void foreach_add_(MutableTensorSpan self, TensorSpan other, Number alpha) {
  check_lengths(self.size(), {other.size()});
  for (std::size_t i = 0; i < self.size(); ++i) add_(self[i], other[i], alpha);
}
void foreach_sub_(MutableTensorSpan self, TensorSpan other, Number alpha) {
  check_lengths(self.size(), {other.size()});
  for (std::size_t i = 0; i < self.size(); ++i) sub_(self[i], other[i], alpha);
}
void foreach_mul_(MutableTensorSpan self, Number other) {
  for (Tensor& tensor : self) mul_(tensor, other);
}
void foreach_mul_(MutableTensorSpan self, TensorSpan other) {
  check_lengths(self.size(), {other.size()});
  for (std::size_t i = 0; i < self.size(); ++i) mul_(self[i], other[i]);
}
void foreach_mul_(MutableTensorSpan self, const Tensor& other) {
  for (Tensor& tensor : self) mul_(tensor, other);
}
void foreach_div_(MutableTensorSpan self, Number other) {
  for (Tensor& tensor : self) div_(tensor, other);
}
void foreach_div_(MutableTensorSpan self, gsl::span<const Number> other) {
  check_lengths(self.size(), {other.size()});
  for (std::size_t i = 0; i < self.size(); ++i) div_(self[i], other[i]);
}
void foreach_div_(MutableTensorSpan self, TensorSpan other) {
  check_lengths(self.size(), {other.size()});
  for (std::size_t i = 0; i < self.size(); ++i) div_(self[i], other[i]);
}
void foreach_maximum_(MutableTensorSpan self, TensorSpan other) {
  check_lengths(self.size(), {other.size()});
  for (std::size_t i = 0; i < self.size(); ++i) maximum_(self[i], other[i]);
}
void foreach_addcmul_(MutableTensorSpan self, TensorSpan a, TensorSpan b, Number value) {
  check_lengths(self.size(), {a.size(), b.size()});
  for (std::size_t i = 0; i < self.size(); ++i) addcmul_(self[i], a[i], b[i], value);
}
void foreach_addcdiv_(MutableTensorSpan self, TensorSpan a, TensorSpan b, Number value) {
  check_lengths(self.size(), {a.size(), b.size()});
  for (std::size_t i = 0; i < self.size(); ++i) addcdiv_(self[i], a[i], b[i], value);
}
void foreach_addcdiv_(MutableTensorSpan self, TensorSpan a, TensorSpan b,
                      gsl::span<const Number> values) {
  check_lengths(self.size(), {a.size(), b.size(), values.size()});
  for (std::size_t i = 0; i < self.size(); ++i) addcdiv_(self[i], a[i], b[i], values[i]);
}
void foreach_lerp_(MutableTensorSpan self, TensorSpan end, Number weight) {
  check_lengths(self.size(), {end.size()});
  for (std::size_t i = 0; i < self.size(); ++i) lerp_(self[i], end[i], weight);
}
void foreach_neg_(MutableTensorSpan self) {
  for (Tensor& tensor : self) neg_(tensor);
}
void foreach_sqrt_(MutableTensorSpan self) {
  for (Tensor& tensor : self) sqrt_(tensor);
}
void foreach_zero_(MutableTensorSpan self) {
  for (Tensor& tensor : self) zero_(tensor);
}

}  // namespace simmesh
