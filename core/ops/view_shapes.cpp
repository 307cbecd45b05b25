#include "core/ops/view_shapes.h"

#include "core/check/error.h"

namespace simmesh {

Shape shape_of_sizes(DimSpan sizes, std::int64_t elements, std::string_view where) {
  Shape shape(sizes.begin(), sizes.end());
  std::int64_t* inferred = nullptr;
  std::int64_t product = 1;
  for (std::int64_t& size : shape) {
    if (size < -1) raise(ErrorKind::runtime_error, where, "invalid shape dimension {}", size);
    if (size == -1 && inferred)
      raise(ErrorKind::runtime_error, where, "only one dimension can be inferred");
    if (size == -1)
      inferred = &size;
    else
      product *= size;
  }
  if (inferred && product == 0 && elements == 0)
    raise(ErrorKind::runtime_error, where,
          "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension "
          "size -1 can be any value and is ambiguous",
          to_string(sizes));
  bool fits = inferred ? product != 0 && elements % product == 0 : product == elements;
  if (!fits)
    raise(ErrorKind::runtime_error, where, "shape '{}' is invalid for input of size {}",
          to_string(sizes), elements);
  if (inferred) *inferred = elements / product;
  return shape;
}

// PyTorch's rule: the dims of x fall into runs that are contiguous in themselves, and each run must
// hold whole dims of the new shape.
bool view_strides(const Tensor& x, DimSpan shape, Strides& strides) {
  strides = contiguous_strides(shape);
  if (x.numel() == 0 || x.dim() == 0) return true;
  std::int64_t at = std::int64_t(shape.size()) - 1;
  std::int64_t run_stride = x.strides().back(), run = 1, covered = 1;
  for (std::int64_t dim = x.dim() - 1; dim >= 0; --dim) {
    run *= x.size(dim);
    std::size_t before = std::size_t(dim - 1);
    bool run_ends = dim == 0 || (x.size(dim - 1) != 1 && x.strides()[before] != run * run_stride);
    if (!run_ends) continue;
    while (at >= 0 && (covered < run || shape[std::size_t(at)] == 1)) {
      strides[std::size_t(at)] = covered * run_stride;
      covered *= shape[std::size_t(at--)];
    }
    if (covered != run) return false;
    if (dim > 0) run_stride = x.strides()[before];
    run = covered = 1;
  }
  return at == -1;
}

Shape repeated_shape(DimSpan repeats, DimSpan shape) {
  Shape result;
  std::size_t added = repeats.size() - shape.size();
  for (std::size_t dim = 0; dim < repeats.size(); ++dim) {
    result.push_back(repeats[dim]);
    result.push_back(dim < added ? 1 : shape[dim - added]);
  }
  return result;
}

}  // namespace simmesh
