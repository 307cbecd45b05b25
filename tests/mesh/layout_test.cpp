#include "mesh/layout.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <set>

#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

// Every layout of up to three dims with the given sizes and strides.
std::vector<std::vector<LayoutDim>> small_layouts(const std::vector<std::int64_t>& strides) {
  std::vector<std::vector<LayoutDim>> layouts{{}};
  for (std::size_t first = 0, dims = 0; dims < 3; ++dims)
    for (std::size_t last = layouts.size(); first < last; ++first)
      for (std::int64_t size : {1, 2, 3, 4})
        for (std::int64_t stride : strides) {
          std::vector<LayoutDim> longer = layouts[first];
          longer.push_back({size, stride});
          layouts.push_back(std::move(longer));
        }
  return layouts;
}

// The offsets by the definition: nested loops, last dim fastest.
std::vector<std::int64_t> odometer(const std::vector<LayoutDim>& dims) {
  std::vector<std::int64_t> offsets{0};
  for (const LayoutDim& dim : dims) {
    std::vector<std::int64_t> next;
    for (std::int64_t offset : offsets)
      for (std::int64_t step = 0; step < dim.size; ++step)
        next.push_back(offset + step * dim.stride);
    offsets = std::move(next);
  }
  return offsets;
}

// Coalescing must not change what a layout maps, and inverse and bounds must agree with the
// offsets.
TEST(Layout, MapsAsNestedLoopsDo) {
  for (const std::vector<LayoutDim>& dims : small_layouts({1, 2, 3, 4, 6, 12, -1, -4})) {
    Layout layout{gsl::span<const LayoutDim>(dims)};
    std::vector<std::int64_t> offsets = odometer(dims);
    ASSERT_EQ(layout.offsets(), offsets) << to_string(layout);
    ASSERT_EQ(layout.min_offset(), *std::min_element(offsets.begin(), offsets.end()));
    ASSERT_EQ(layout.max_offset(), *std::max_element(offsets.begin(), offsets.end()));
    std::set<std::int64_t> distinct(offsets.begin(), offsets.end());
    ASSERT_EQ(layout.injective(), distinct.size() == offsets.size()) << to_string(layout);
    if (!layout.decodable()) continue;
    for (std::int64_t offset = layout.min_offset() - 2; offset <= layout.max_offset() + 2;
         ++offset) {
      auto found = std::find(offsets.begin(), offsets.end(), offset);
      std::optional<std::int64_t> index = layout.index_of(offset);
      ASSERT_EQ(index.has_value(), found != offsets.end()) << to_string(layout) << " " << offset;
      if (index) {
        ASSERT_EQ(*index, found - offsets.begin());
      }
    }
  }
}

// Equality means equal maps: if two descriptions of one map differed, a flattened mesh would not be
// found again.
TEST(Layout, EqualExactlyIfTheyMapAlike) {
  std::map<std::vector<std::int64_t>, Layout> by_offsets;
  std::map<std::string, std::vector<std::int64_t>> by_text;
  for (const std::vector<LayoutDim>& dims : small_layouts({1, 2, 4, -2})) {
    Layout layout{gsl::span<const LayoutDim>(dims)};
    auto [same_map, first_map] = by_offsets.emplace(layout.offsets(), layout);
    ASSERT_EQ(same_map->second, layout);
    auto [same_text, first_text] = by_text.emplace(to_string(layout), layout.offsets());
    ASSERT_EQ(same_text->second, layout.offsets());
  }
  EXPECT_EQ(by_offsets.size(), by_text.size());
}

TEST(Layout, UnitDimsHaveNoStride) {
  EXPECT_EQ(Layout({{1, 7}, {4, 1}, {1, 0}}), Layout::contiguous(4));
  EXPECT_TRUE(Layout({{1, 5}}).dims().empty());
  EXPECT_TRUE(Layout({{1, 1}, {4, 4}, {1, 100}, {2, 1}}).sorted());
  EXPECT_FALSE(Layout({{2, 1}, {4, 4}}).sorted());
}

// A layout and its complement must name every offset once, or sibling meshes would overlap or leave
// ranks out.
TEST(Layout, ComplementFillsTheRest) {
  for (const std::vector<LayoutDim>& dims : small_layouts({1, 2, 3, 4, 6, 12})) {
    Layout layout{gsl::span<const LayoutDim>(dims)};
    for (std::int64_t total : {1, 2, 6, 12, 24, 48}) {
      if (!layout.divides(total)) continue;
      std::set<std::int64_t> all;
      Layout complement = layout.complement(total);
      for (std::int64_t start : complement.offsets())
        for (std::int64_t offset : layout.offsets()) all.insert(start + offset);
      ASSERT_EQ(static_cast<std::int64_t>(all.size()), total) << to_string(layout);
      ASSERT_EQ(*all.rbegin(), total - 1) << to_string(layout);
      ASSERT_TRUE(complement.sorted());
    }
  }
  EXPECT_FALSE(Layout::contiguous(3).divides(4));
  EXPECT_FALSE(Layout({{2, 6}, {3, 4}}).divides(24));
  EXPECT_FALSE(Layout({{2, 2}, {3, 1}}).divides(12));
  EXPECT_FALSE(Layout({{2, -1}}).divides(2));
  EXPECT_THROW(Layout::contiguous(3).complement(4), ContractViolation);
}

// compose must return exactly the composed map, and must find it whenever meshes are split along
// their dims.
TEST(Layout, ComposeEqualsOneAfterTheOther) {
  std::int64_t composed = 0;
  std::vector<std::vector<LayoutDim>> outers = small_layouts({1, 4, -1});
  std::vector<std::vector<LayoutDim>> inners = small_layouts({1, 2});
  for (const std::vector<LayoutDim>& outer_dims : outers) {
    Layout outer{gsl::span<const LayoutDim>(outer_dims)};
    for (const std::vector<LayoutDim>& inner_dims : inners) {
      Layout inner{gsl::span<const LayoutDim>(inner_dims)};
      for (std::int64_t start : {0, 1, 2, 5}) {
        std::optional<PlacedLayout> placed = compose(outer, inner, start);
        if (start + inner.max_offset() >= outer.size()) {
          ASSERT_FALSE(placed);
          continue;
        }
        if (!placed) continue;
        ++composed;
        for (std::int64_t index = 0; index < inner.size(); ++index)
          ASSERT_EQ(placed->start + placed->layout(index), outer(start + inner(index)))
              << to_string(outer) << " after " << to_string(inner) << " from " << start;
      }
    }
  }
  EXPECT_GT(composed, 10'000);
  Layout corners({{2, 4}, {2, 1}});
  EXPECT_EQ(compose(corners, Layout({{2, 2}}))->layout, Layout({{2, 4}}));
  EXPECT_EQ(compose(corners, Layout::contiguous(2), 2)->start, 4);
  EXPECT_FALSE(compose(Layout({{2, 6}, {3, 1}}), Layout({{3, 2}})));
  EXPECT_FALSE(compose(corners, Layout::contiguous(2), 1));
}

TEST(Layout, OffsetsRunLikeAnOdometer) {
  EXPECT_THAT(Layout({{2, 1}, {3, 2}}).offsets(), ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(Layout, TextShowsSizesAndStrides) {
  EXPECT_EQ(to_string(Layout()), "1:0");
  EXPECT_EQ(to_string(Layout({{2, 4}, {4, 1}})), "8:1");
  EXPECT_EQ(to_string(Layout({{2, 4}, {2, 1}})), "(2, 2):(4, 1)");
}

TEST(Layout, RefusesWhatDoesNotFit) {
  std::int64_t large = std::int64_t{1} << 62;
  EXPECT_THROW(Layout({{large, 1}, {4, 3}}), Error);
  EXPECT_THROW(Layout({{4, large}}), Error);
  EXPECT_THROW(Layout({{2, large - 1}, {2, large - 2}, {2, large - 3}}), Error);
  EXPECT_THROW(Layout({{0, 1}}), ContractViolation);
  EXPECT_THROW(Layout({{2, 0}}), ContractViolation);
  EXPECT_THROW(Layout({{2, 1}, {2, 1}}).index_of(0), ContractViolation);
}

}  // namespace
}  // namespace simmesh
