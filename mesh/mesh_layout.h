#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "core/tensor/shape.h"
#include "mesh/layout.h"

namespace simmesh {

// MeshLayout has one Layout for each mesh dim: the positions of a root mesh to which the steps
// along that dim lead. A flattened dim may step unevenly, so each dim is a layout of its own.
// Meshes are cut out of one another by slicing, flattening, unflattening and concatenating their
// dims; none of it looks at a rank.
//
//   MeshLayout mesh = MeshLayout::contiguous(Dims{2, 3, 4});    // 2:12, 3:4, 4:1
//   mesh.sliced({0, 2}).flattened();                        // (2, 4):(12, 1)
//   mesh.coordinate_of(17);                                 // [1, 1, 1]
class MeshLayout {
 public:
  // MeshLayout without dims has one position and the coordinate [].
  MeshLayout() = default;
  explicit MeshLayout(Layout dim) : dims_{std::move(dim)} {}

  // contiguous returns the row-major layout of a shape, whose sizes must be at least 1.
  static MeshLayout contiguous(DimSpan shape);

  std::int64_t ndim() const { return static_cast<std::int64_t>(dims_.size()); }
  // size is the number of positions, shape the sizes of all dims.
  std::int64_t size() const;
  Shape shape() const;
  const Layout& operator[](std::int64_t dim) const { return dims_[static_cast<std::size_t>(dim)]; }

  // append adds the dims of another layout after the last one.
  void append(const MeshLayout& other);

  // sliced returns the dims with the given indices, in that order.
  MeshLayout sliced(DimSpan dims) const;

  // spliced returns this layout with one dim replaced by those of another layout.
  MeshLayout spliced(std::int64_t dim, const MeshLayout& replacement) const;

  // flattened returns all dims as one, row-major, coalesced.
  Layout flattened() const;

  // unflattened splits one dim into dims of the given sizes, whose product is the size of the dim.
  // nullopt where a part would not step evenly, as when (2, 3):(6, 1) is to become 3 x 2.
  std::optional<MeshLayout> unflattened(std::int64_t dim, DimSpan sizes) const;

  // coordinate_of returns the coordinate of a position. The flattened layout must divide the
  // positions of the root.
  Dims coordinate_of(std::int64_t position) const;

  // position_of returns the position of a coordinate, counted from the mesh's first position.
  std::int64_t position_of(DimSpan coordinate) const;

  friend bool operator==(const MeshLayout& a, const MeshLayout& b) { return a.dims_ == b.dims_; }

 private:
  boost::container::small_vector<Layout, 3> dims_;
};

// to_string returns "[2:12, 3:4, 4:1]".
std::string to_string(const MeshLayout& layout);

}  // namespace simmesh
