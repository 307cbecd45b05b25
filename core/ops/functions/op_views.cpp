#include "core/ops/functions/op_views.h"

#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

class OpViews final : public AttachedViews {
 public:
  Tensor narrow(const Tensor& x, const Tensor::Narrow& range) const override {
    return simmesh::narrow(x, range);
  }
  Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) const override {
    return simmesh::transpose(x, dim0, dim1);
  }
  Tensor permute(const Tensor& x, DimSpan dims) const override { return simmesh::permute(x, dims); }
  Tensor unsqueeze(const Tensor& x, std::int64_t dim) const override {
    return simmesh::unsqueeze(x, dim);
  }
  Tensor squeeze(const Tensor& x, std::int64_t dim) const override {
    return simmesh::squeeze(x, dim);
  }
  Tensor view(const Tensor& x, DimSpan shape) const override { return simmesh::view(x, shape); }
  Tensor clone(const Tensor& x) const override { return simmesh::clone(x); }
};

}  // namespace

const AttachedViews& op_views() {
  static const OpViews views;
  return views;
}

}  // namespace simmesh
