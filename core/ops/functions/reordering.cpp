#include "core/ops/functions/reordering.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/dim_list.h"

namespace simmesh {

Tensor movedim(const Tensor& x, DimSpan sources, DimSpan destinations) {
  if (sources.size() != destinations.size())
    raise(ErrorKind::runtime_error, "movedim",
          "Invalid source or destination dims: source ({} dims) should contain the same number of "
          "dims as destination ({} dims)",
          sources.size(), destinations.size());
  auto rank = std::size_t(x.dim());
  Dims order(rank, -1);
  std::vector<bool> is_moved(rank, false);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    auto source = std::size_t(wrapped_dim(sources[i], rank));
    auto target = std::size_t(wrapped_dim(destinations[i], rank));
    if (rank == 0) continue;
    if (is_moved[source] || order[target] != -1)
      raise(ErrorKind::runtime_error, "movedim", "expected different dims, got {} to {}",
            to_string(sources), to_string(destinations));
    is_moved[source] = true;
    order[target] = std::int64_t(source);
  }
  std::size_t next = 0;
  for (std::size_t target = 0; target < rank; ++target) {
    if (order[target] != -1) continue;
    while (is_moved[next]) ++next;
    order[target] = std::int64_t(next++);
  }
  return permute(x, order);
}

Tensor squeeze(const Tensor& x, DimSpan dims) {
  Dims wrapped;
  for (std::int64_t dim : dims) wrapped.push_back(wrapped_dim(dim, x.shape().size()));
  std::sort(wrapped.begin(), wrapped.end());
  Tensor result = x;
  for (std::size_t i = wrapped.size(); i-- > 0;) result = squeeze(result, wrapped[i]);
  return result;
}

std::vector<Tensor> tensor_split(const Tensor& x, DimSpan indices, std::int64_t dim) {
  if (x.dim() == 0)
    raise(ErrorKind::runtime_error, "tensor_split",
          "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  dim = wrapped_dim(dim, x.shape().size());
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t index : indices) {
    parts.push_back(slice(x, {.dim = dim, .start = start, .end = index}));
    start = index;
  }
  parts.push_back(slice(x, {.dim = dim, .start = start}));
  return parts;
}

std::vector<Tensor> tensor_split(const Tensor& x, std::int64_t sections, std::int64_t dim) {
  if (sections < 1)
    raise(ErrorKind::runtime_error, "tensor_split",
          "number of sections must be larger than 0, got {}", sections);
  std::int64_t size = x.dim() == 0 ? 0 : x.size(wrapped_dim(dim, x.shape().size()));
  Dims indices;
  for (std::int64_t i = 1, at = 0; i < sections; ++i) {
    at += size / sections + (i <= size % sections);
    indices.push_back(at);
  }
  return tensor_split(x, DimSpan(indices), dim);
}

namespace {

// Stands for any view in the tape's check of an operation in place.
const Op view_in_place = {.name = "view in place",
                          .view = [](gsl::span<const Tensor> inputs, const Attributes&) {
                            return std::vector<Tensor>(inputs.begin(), inputs.end());
                          }};

// A leaf that became a view would no longer be a leaf, and its gradient would be lost.
Tensor& become(Tensor& self, Tensor view) {
  if (grad_enabled() && self.requires_grad()) self.tracking()->check_in_place(view_in_place, self);
  if (self.storage()) self.storage()->count_change();
  return self = std::move(view);
}

}  // namespace

Tensor& transpose_(Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  return become(self, transpose(self, dim0, dim1));
}
Tensor& t_(Tensor& self) { return become(self, t(self)); }
Tensor& unsqueeze_(Tensor& self, std::int64_t dim) { return become(self, unsqueeze(self, dim)); }
Tensor& squeeze_(Tensor& self, std::optional<std::int64_t> dim) {
  return become(self, dim ? squeeze(self, *dim) : squeeze(self));
}

}  // namespace simmesh
