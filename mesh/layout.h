#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <gsl/span>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace simmesh {

// LayoutDim is `size` steps of `stride`.
struct LayoutDim {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  friend bool operator==(const LayoutDim&, const LayoutDim&) = default;
};

// Layout maps the indices 0 .. size()-1 to offsets: the index is read as a row-major multi-index
// over the dims (last dim fastest), and each coordinate counts steps of its dim's stride. Written
// sizes:strides, as in NVIDIA's CuTe, where the first dim is the fastest.
//
// Invariant: a Layout is always coalesced. It has no unit dims (whose strides could confuse an
// order check), and neighbouring dims that step evenly are one dim. Hence two layouts are equal
// exactly if they map alike.
//
//   Layout line({{2, 4}, {4, 1}});        // (2,4):(4,1) is the same as 8:1
//   Layout corners({{2, 4}, {2, 1}});     // offsets 0 1 4 5
//   corners(2);                           // 4
//   corners.index_of(5);                  // 3
//   corners.complement(8);                // 2:2, the offsets 0 2
class Layout {
 public:
  // Layout without dims has one index, at offset 0.
  Layout() = default;
  explicit Layout(gsl::span<const LayoutDim> dims);
  Layout(std::initializer_list<LayoutDim> dims);

  // contiguous returns size:1.
  static Layout contiguous(std::int64_t size) { return Layout({{size, 1}}); }

  gsl::span<const LayoutDim> dims() const { return {dims_.data(), dims_.size()}; }
  std::int64_t size() const { return size_; }

  // operator() returns the offset of an index in 0 .. size()-1.
  std::int64_t operator()(std::int64_t index) const {
    if (dims_.size() == 1) return index * dims_[0].stride;
    std::int64_t offset = 0;
    for (std::size_t dim = dims_.size(); dim-- > 0;) {
      std::int64_t outer = index / dims_[dim].size;
      offset += (index - outer * dims_[dim].size) * dims_[dim].stride;
      index = outer;
    }
    return offset;
  }

  // index_of is the inverse of operator(), in O(dims): nullopt where no index has the offset. Only
  // for layouts that are `decodable`.
  std::optional<std::int64_t> index_of(std::int64_t offset) const {
    if (dims_.size() != 1) return index_among_dims(offset);
    std::int64_t index = dims_[0].stride == 1 ? offset : offset / dims_[0].stride;
    if (index < 0 || index >= size_ || index * dims_[0].stride != offset) return std::nullopt;
    return index;
  }

  // decodable is true if each dim steps over all that the finer dims reach, so that division takes
  // an offset apart. It implies injective.
  bool decodable() const { return decodable_; }

  // injective is true if all offsets differ. O(dims) for decodable layouts, O(size log size)
  // otherwise.
  bool injective() const;

  // divides is true if the layout cuts 0 .. total-1 evenly: strides are positive, each is a
  // multiple of the reach of the finer dims, and so is total. Only then do the layout and its
  // complement together name each offset below total once.
  bool divides(std::int64_t total) const;

  // complement returns the offsets at which copies of this layout fill 0 .. total-1, coarsest dim
  // first. Only for layouts that divide total.
  Layout complement(std::int64_t total) const;

  // min_offset and max_offset bound the offsets.
  std::int64_t min_offset() const;
  std::int64_t max_offset() const;

  // sorted is true if the strides fall from dim to dim, as in a row-major mesh.
  bool sorted() const;

  // offsets returns all offsets in the order of the indices.
  std::vector<std::int64_t> offsets() const;

  friend bool operator==(const Layout& a, const Layout& b) {
    return a.size_ == b.size_ && a.dims_ == b.dims_;
  }

 private:
  // DecodeDim is a dim as index_of uses it, largest step first: a step of the offset, and the step
  // of the index that it stands for.
  struct DecodeDim {
    std::int64_t step;
    std::int64_t size;
    std::int64_t index_step;
    bool backward;
  };
  using DecodeDims = boost::container::small_vector<DecodeDim, 4>;
  void append_coalesced(LayoutDim dim);
  std::optional<std::int64_t> index_among_dims(std::int64_t offset) const;
  DecodeDims decode_dims() const;

  boost::container::small_vector<LayoutDim, 2> dims_;
  std::int64_t size_ = 1;
  bool decodable_ = true;
  bool row_major_ =
      true;  // strides are positive and fall: offsets are decoded in the order of the dims
};

// PlacedLayout is a layout that starts at an offset: the offsets start + layout(i).
struct PlacedLayout {
  std::int64_t start = 0;
  Layout layout;
};

// compose returns the map i -> outer(start + inner(i)) as a placed layout, which exists for all
// meshes cut out of one another along their dims; nullopt where steps of inner straddle dims of
// outer or leave it.
std::optional<PlacedLayout> compose(const Layout& outer, const Layout& inner,
                                    std::int64_t start = 0);

// to_string returns "(2, 2):(4, 1)", and "1:0" for the layout without dims.
std::string to_string(const Layout& layout);

}  // namespace simmesh
