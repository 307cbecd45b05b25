#include "core/tensor/dims.h"

#include <cstdint>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace simmesh {
namespace {

using Expected = std::vector<std::int64_t>;

Expected listed(const Dims& dims) { return Expected(dims.begin(), dims.end()); }

Dims counted(std::size_t count) {
  Dims result(count);
  std::iota(result.begin(), result.end(), 1);
  return result;
}

// If this fails, a shape that outgrows its place loses sizes, or is changed through a copy.
TEST(Dims, CopiesAreApartInPlaceAndOnTheHeap) {
  for (std::size_t count = 0; count <= 2 * Dims::in_place_max + 1; ++count) {
    Dims original = counted(count);
    Expected expected = listed(original);
    Dims copy = original, assigned = counted(9);
    assigned = original;
    copy.push_back(7);
    assigned.insert(assigned.begin(), 8);
    EXPECT_EQ(listed(original), expected);
    EXPECT_EQ(copy.size(), count + 1);
    EXPECT_EQ(copy.back(), 7);
    EXPECT_EQ(assigned.front(), 8);
    assigned.erase(assigned.begin());
    EXPECT_EQ(assigned, original);
  }
}

// If this fails, a list that was moved from keeps a length without its elements.
TEST(Dims, WhatWasMovedFromIsEmptyAndUsable) {
  for (std::size_t count : {std::size_t(3), Dims::in_place_max, std::size_t(10)}) {
    Dims from = counted(count), assigned = counted(8);
    Dims to = std::move(from);
    EXPECT_EQ(listed(to), listed(counted(count)));
    // NOLINTNEXTLINE(bugprone-use-after-move): lists that were moved from are what is tested.
    from.assign(2, 5);
    EXPECT_EQ(listed(from), (Expected{5, 5}));
    assigned = std::move(to);
    EXPECT_EQ(listed(assigned), listed(counted(count)));
    // NOLINTNEXTLINE(bugprone-use-after-move)
    to.clear();
    for (std::int64_t value = 0; value < 9; ++value) to.push_back(value);
    EXPECT_EQ(to.size(), 9u);
    EXPECT_EQ(to.back(), 8);
  }
}

// If this fails, assigning a list to itself empties it.
TEST(Dims, SelfAssignmentKeepsTheValues) {
  for (std::size_t count : {2, 8}) {
    Dims dims = counted(count);
    const Dims& same = dims;
    dims = same;
    EXPECT_EQ(listed(dims), listed(counted(count)));
  }
}

// If this fails, dims are inserted or erased at another place than with a std::vector.
TEST(Dims, ChangesAreThoseOfAVector) {
  for (std::size_t count = 0; count <= 9; ++count)
    for (std::size_t at = 0; at <= count; ++at) {
      Dims dims = counted(count);
      Expected expected = listed(dims);
      auto gap = dims.insert(dims.begin() + at, 2, -1);
      expected.insert(expected.begin() + std::ptrdiff_t(at), 2, -1);
      EXPECT_EQ(gap - dims.begin(), std::ptrdiff_t(at));
      dims.insert(dims.begin() + at, {4, 5, 6});
      expected.insert(expected.begin() + std::ptrdiff_t(at), {4, 5, 6});
      dims.insert(dims.end(), dims.begin(), dims.begin() + 2);
      Expected first(expected.begin(), expected.begin() + 2);
      expected.insert(expected.end(), first.begin(), first.end());
      EXPECT_EQ(listed(dims), expected);
      auto after = dims.erase(dims.begin() + at, dims.begin() + at + 3);
      expected.erase(expected.begin() + std::ptrdiff_t(at),
                     expected.begin() + std::ptrdiff_t(at) + 3);
      EXPECT_EQ(after - dims.begin(), std::ptrdiff_t(at));
      dims.resize(dims.size() + 4, 3);
      expected.resize(expected.size() + 4, 3);
      dims.pop_back();
      expected.pop_back();
      EXPECT_EQ(listed(dims), expected);
    }
}

// If this fails, sizes that come from another container, or of another type, are read wrongly.
TEST(Dims, TakeTheValuesOfAnyRange) {
  std::vector<int> sizes{1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(Dims(sizes.begin(), sizes.end()), counted(7));
  EXPECT_EQ(Dims(sizes.data(), sizes.data() + 2), (Dims{1, 2}));
  EXPECT_EQ(Dims(sizes.rbegin(), sizes.rend()).front(), 7);
  EXPECT_EQ(fmt::format("{}", fmt::join(Dims{4, 5}, ", ")), "4, 5");
}

// If this fails, lists are equal that aren't, or a map of them loses its order.
TEST(Dims, CompareAsListsOfNumbers) {
  EXPECT_EQ((Dims{1, 2}), (Dims{1, 2}));
  EXPECT_NE((Dims{1, 2}), (Dims{1, 2, 0}));
  EXPECT_NE((Dims{1, 2}), (Dims{1, 3}));
  EXPECT_LT((Dims{1, 2}), (Dims{1, 2, 0}));
  EXPECT_LT((Dims{-1, 9}), (Dims{0}));
  EXPECT_GT(counted(9), counted(8));
}

// If this fails, a dim that doesn't exist is read from the memory after the list.
TEST(Dims, AtRefusesWhatIsNotThere) {
  Dims dims{3, 4};
  EXPECT_EQ(dims.at(1), 4);
  EXPECT_THROW(dims.at(2), std::out_of_range);
}

}  // namespace
}  // namespace simmesh
