#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <gsl/span>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mesh/layout.h"

namespace simmesh {

// RankList is an ordered list of distinct ranks: the ranks of a mesh, or the members of a process
// group. It is a cheap value. A regular list (a range, a column of a mesh, every other rank, a
// range backwards) is kept as start + layout, so it takes O(dims) memory however long it is; any
// other list points into one shared, immutable vector.
//
// Lists compare by their members, however they are kept, and equal lists hash alike.
//
//   RankList world = RankList::range(1'000'000);
//   RankList column = world.select(7, Layout({{1000, 1000}}));      // 7, 1007, 2007, ...
//   column[2];                                                      // 2007
//   column.index_of(3007);                                          // 3
class RankList {
 public:
  // RankList without arguments is empty.
  RankList() = default;

  // range returns 0 .. count-1. Raises a ValueError where count is negative or above 2^31.
  static RankList range(std::int64_t count);

  // of returns the ranks as listed. O(n log n). Raises a ValueError where a rank comes twice, is
  // negative or above 2^31-1.
  static RankList of(gsl::span<const std::int64_t> ranks);
  static RankList of(std::initializer_list<std::int64_t> ranks);

  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // operator[] returns the member at an index in 0 .. size()-1, unchecked. O(dims).
  std::int64_t operator[](std::int64_t index) const {
    std::int64_t position = start_ + layout_(index);
    return map_ == nullptr ? position : mapped(position);
  }

  // at returns the member at an index; raises an IndexError outside 0 .. size()-1.
  std::int64_t at(std::int64_t index) const;

  // index_of returns the index of a rank in the list; nullopt where it isn't a member. O(dims) for
  // regular lists, O(log n) for others.
  std::optional<std::int64_t> index_of(std::int64_t rank) const {
    if (map_ != nullptr) return mapped_index_of(rank);
    if (size_ == 0) return std::nullopt;
    return layout_.index_of(rank - start_);
  }
  bool contains(std::int64_t rank) const { return index_of(rank).has_value(); }

  // select returns the list of the members at start + layout(i). O(dims), except where steps of the
  // layout straddle those of this list, which then takes O(result). All indices must be in 0 ..
  // size()-1 and differ.
  RankList select(std::int64_t start, const Layout& layout) const;

  // min and max of a list that isn't empty. O(dims) for regular lists and for those made by `of`,
  // else O(n).
  std::int64_t min() const;
  std::int64_t max() const;

  // to_vector returns all members. O(size).
  std::vector<std::int64_t> to_vector() const;

  friend bool operator==(const RankList& a, const RankList& b);

  // hash depends on the members only. O(dims).
  std::size_t hash() const;

  // regular is true if the list is kept as start + layout and shares no vector.
  bool regular() const { return map_ == nullptr; }

 private:
  struct Map;
  RankList(std::shared_ptr<const Map> map, std::int64_t start, Layout layout)
      : map_(std::move(map)), start_(start), layout_(std::move(layout)), size_(layout_.size()) {}
  bool covers_map() const;
  std::int64_t mapped(std::int64_t position) const;
  std::optional<std::int64_t> mapped_index_of(std::int64_t rank) const;

  std::shared_ptr<const Map> map_;  // null: the positions are the ranks
  std::int64_t start_ = 0;
  Layout layout_;
  std::int64_t size_ = 0;
};

// to_string returns "[0, 2, 4]", and "[0, 1, ..., 99999]" for more than 16 members.
std::string to_string(const RankList& ranks);

}  // namespace simmesh

template <>
struct std::hash<simmesh::RankList> {
  std::size_t operator()(const simmesh::RankList& ranks) const { return ranks.hash(); }
};
