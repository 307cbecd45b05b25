#include "mesh/mesh_layout.h"

#include "core/check/check.h"

namespace simmesh {

MeshLayout MeshLayout::contiguous(DimSpan shape) {
  MeshLayout layout;
  Strides strides = contiguous_strides(shape);
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    layout.dims_.push_back(Layout({{shape[dim], strides[dim]}}));
  return layout;
}

std::int64_t MeshLayout::size() const {
  std::int64_t size = 1;
  for (const Layout& dim : dims_) size *= dim.size();
  return size;
}

Shape MeshLayout::shape() const {
  Shape shape;
  for (const Layout& dim : dims_) shape.push_back(dim.size());
  return shape;
}

void MeshLayout::append(const MeshLayout& other) {
  dims_.insert(dims_.end(), other.dims_.begin(), other.dims_.end());
}

MeshLayout MeshLayout::sliced(DimSpan dims) const {
  MeshLayout slice;
  for (std::int64_t dim : dims) slice.dims_.push_back((*this)[dim]);
  return slice;
}

MeshLayout MeshLayout::spliced(std::int64_t dim, const MeshLayout& replacement) const {
  SIMMESH_CHECK(dim >= 0 && dim < ndim(), "dim {} of a layout of {} dims", dim, ndim());
  MeshLayout result;
  result.dims_.assign(dims_.begin(), dims_.begin() + dim);
  result.append(replacement);
  result.dims_.insert(result.dims_.end(), dims_.begin() + dim + 1, dims_.end());
  return result;
}

Layout MeshLayout::flattened() const {
  boost::container::small_vector<LayoutDim, 6> dims;
  for (const Layout& dim : dims_) dims.insert(dims.end(), dim.dims().begin(), dim.dims().end());
  return Layout(gsl::span<const LayoutDim>(dims.data(), dims.size()));
}

std::optional<MeshLayout> MeshLayout::unflattened(std::int64_t dim, DimSpan sizes) const {
  MeshLayout parts = contiguous(sizes);
  SIMMESH_CHECK(parts.size() == (*this)[dim].size(), "sizes {} for a dim of size {}",
                to_string(sizes), (*this)[dim].size());
  for (Layout& part : parts.dims_) {
    std::optional<PlacedLayout> composed = compose((*this)[dim], part);
    if (!composed) return std::nullopt;
    part = composed->layout;
  }
  return spliced(dim, parts);
}

Dims MeshLayout::coordinate_of(std::int64_t position) const {
  Dims coordinate;
  for (const Layout& layout : dims_) {
    std::int64_t index = 0;
    for (const LayoutDim& dim : layout.dims())
      index = index * dim.size + position / dim.stride % dim.size;
    coordinate.push_back(index);
  }
  return coordinate;
}

std::int64_t MeshLayout::position_of(DimSpan coordinate) const {
  SIMMESH_CHECK(coordinate.size() == dims_.size(), "coordinate {} of a layout of {} dims",
                to_string(coordinate), ndim());
  std::int64_t position = 0;
  for (std::size_t dim = 0; dim < dims_.size(); ++dim) position += dims_[dim](coordinate[dim]);
  return position;
}

std::string to_string(const MeshLayout& layout) {
  std::string text;
  for (std::int64_t dim = 0; dim < layout.ndim(); ++dim)
    text += (dim == 0 ? "" : ", ") + to_string(layout[dim]);
  return "[" + text + "]";
}

}  // namespace simmesh
