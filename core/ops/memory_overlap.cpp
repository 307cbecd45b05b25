#include "core/ops/memory_overlap.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh {

namespace {

// True if the elements fill a range of memory without gaps, in any order of the dims.
bool is_dense(const Tensor& x) {
  Dims order;
  for (std::int64_t dim = 0; dim < x.dim(); ++dim)
    if (x.size(dim) != 1) order.push_back(dim);
  auto stride = [&x](std::int64_t dim) { return x.strides()[std::size_t(dim)]; };
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return stride(a) < stride(b); });
  std::int64_t expected = 1;
  for (std::int64_t dim : order) {
    if (stride(dim) != expected) return false;
    expected *= x.size(dim);
  }
  return true;
}

bool overlaps_in_part(const Tensor& self, const Tensor& input) {
  if (self.storage() != input.storage() || self.numel() == 0 || input.numel() == 0) return false;
  if (!is_dense(self) || !is_dense(input)) return false;
  std::int64_t begin = self.storage_offset(), end = begin + self.numel();
  std::int64_t other_begin = input.storage_offset(), other_end = other_begin + input.numel();
  if (begin == other_begin && end == other_end) return self.strides() != input.strides();
  return begin < other_end && other_begin < end;
}

bool repeats(DimSpan shape, DimSpan strides) {
  if (numel(shape) == 0) return false;
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    if (strides[dim] == 0 && shape[dim] > 1) return true;
  return false;
}

}  // namespace

bool repeats_elements(const Tensor& x) { return repeats(x.shape(), x.strides()); }

bool is_same_data(const Tensor& a, const Tensor& b) {
  return a.storage() && a.storage() == b.storage() && a.dtype() == b.dtype() &&
         a.shape() == b.shape() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset();
}

void check_repeated(std::string_view where, DimSpan shape, DimSpan strides) {
  if (!repeats(shape, strides)) return;
  raise(ErrorKind::runtime_error, where,
        "unsupported operation: more than one element of the written-to tensor refers to a single "
        "memory location. Please clone() the tensor before performing the operation.");
}

void check_overlaps(const Op& op, const Tensor& self, gsl::span<const Tensor> inputs) {
  if (!self.storage()) return;
  check_repeated(op.name, self.shape(), self.strides());
  for (const Tensor& input : inputs)
    if (input.is_defined() && overlaps_in_part(self, input))
      raise(ErrorKind::runtime_error, op.name,
            "unsupported operation: some elements of the input tensor and the written-to tensor "
            "refer to a single memory location. Please clone() the tensor before performing the "
            "operation.");
}

}  // namespace simmesh
