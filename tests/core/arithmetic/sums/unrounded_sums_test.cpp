#include "core/arithmetic/sums/unrounded_sums.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// Runs of float32 elements: where they begin, how many they are, and which sum is behind the first.
std::string shown(const CompanionPtr& companion) {
  if (!companion) return "none";
  std::string text;
  for (const SumRun& run : UnroundedSums::of(companion)->runs())
    text += fmt::format("{}+{}@{} ", run.begin, run.count, run.first);
  return text;
}

SumRun run_of(std::int64_t begin, std::int64_t count, std::int64_t first) {
  static const auto sums = std::make_shared<const CarriedSums>(CarriedSums::zeros(100));
  return {begin, count, 4, sums, first};
}

CompanionPtr two_runs() { return UnroundedSums::make({run_of(0, 4, 10), run_of(32, 2, 50)}); }

// If this fails, an element that is only half within a range keeps a sum, or a part of a run gets
// the sums of other elements.
TEST(UnroundedSums, ARunIsCutAtWholeElements) {
  SumRun run = run_of(8, 4, 10);
  auto inner = run.within(10, 21);
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->begin, 12);
  EXPECT_EQ(inner->count, 2);
  EXPECT_EQ(inner->first, 11);
  EXPECT_FALSE(run.within(9, 12));
  EXPECT_FALSE(run.within(24, 40));
  EXPECT_EQ(run.within(0, 100)->count, 4);
}

// If this fails, two buffers of the same elements are taken for one another although other sums are
// behind them.
TEST(UnroundedSums, AreTheSameByPlaceAndDigits) {
  EXPECT_TRUE(two_runs()->is_same(*two_runs()));
  SumRun apart = run_of(0, 4, 10);
  apart.sums = std::make_shared<const CarriedSums>(CarriedSums::zeros(100));
  CompanionPtr one = UnroundedSums::make({run_of(0, 4, 10)});
  EXPECT_TRUE(one->is_same(*UnroundedSums::make({apart})));
  apart.sums = std::make_shared<const CarriedSums>(CarriedSums::of_digits({1, 2}, 2, 0));
  EXPECT_FALSE(one->is_same(*UnroundedSums::make({apart})));
  EXPECT_FALSE(one->is_same(*two_runs()));
  EXPECT_FALSE(one->is_same(*UnroundedSums::make({run_of(4, 4, 10)})));
  EXPECT_FALSE(one->is_same(*UnroundedSums::make({run_of(0, 4, 11)})));
  SumRun root = run_of(0, 4, 10);
  root.is_root = true;
  EXPECT_FALSE(one->is_same(*UnroundedSums::make({root})));
}

// If this fails, sums stay behind elements that were written, and their old values come back.
TEST(UnroundedSums, WhatIsWrittenLosesItsSums) {
  EXPECT_EQ(shown(UnroundedSums::make({})), "none");
  EXPECT_EQ(shown(two_runs()->without({.begin = 4, .count = 8})), "0+1@10 12+1@13 32+2@50 ");
  EXPECT_EQ(shown(two_runs()->without({.begin = 0, .count = 64})), "none");
  CompanionPtr untouched = two_runs();
  EXPECT_EQ(untouched->without({.begin = 16, .count = 16}), untouched);
}

TEST(UnroundedSums, ASliceBeginsAtZero) {
  EXPECT_EQ(shown(two_runs()->slice({.begin = 8, .count = 28})), "0+2@12 24+1@50 ");
}

TEST(UnroundedSums, AJoinedRunTakesThePlaceOfWhatLayThere) {
  EXPECT_EQ(shown(UnroundedSums::joined(nullptr, run_of(8, 2, 0))), "8+2@0 ");
  EXPECT_EQ(shown(UnroundedSums::joined(two_runs(), run_of(12, 6, 70))), "0+3@10 12+6@70 36+1@51 ");
}

// If this fails, a copy through strides brings the sums of other elements along.
TEST(UnroundedSums, ACopyTakesSumsElementByElement) {
  const std::int64_t shape[] = {2, 2}, rows[] = {2, 1}, columns[] = {1, 2};
  ElementPlaces source{.begin = 0, .shape = shape, .strides = rows, .element_bytes = 4};
  ElementPlaces same{.begin = 100, .shape = shape, .strides = rows, .element_bytes = 4};
  ElementPlaces turned{.begin = 100, .shape = shape, .strides = columns, .element_bytes = 4};
  EXPECT_EQ(shown(two_runs()->with_copy(nullptr, source, same)), "100+4@10 ");
  EXPECT_EQ(shown(two_runs()->with_copy(nullptr, source, turned)),
            "100+1@10 104+1@12 108+1@11 112+1@13 ");
  // Sums at the target are gone, sums beside it stay.
  CompanionPtr before = UnroundedSums::make({run_of(96, 3, 80)});
  EXPECT_EQ(shown(two_runs()->with_copy(before, source, same)), "96+1@80 100+4@10 ");
}

// If this fails, roots become sums on their way.
TEST(UnroundedSums, RootsStayRoots) {
  SumRun roots = run_of(0, 4, 0);
  roots.is_root = true;
  EXPECT_TRUE(roots.within(4, 12)->is_root);
  const std::int64_t shape[] = {2, 2}, columns[] = {1, 2}, rows[] = {2, 1};
  ElementPlaces source{.begin = 0, .shape = shape, .strides = columns, .element_bytes = 4};
  ElementPlaces target{.begin = 0, .shape = shape, .strides = rows, .element_bytes = 4};
  CompanionPtr copied = UnroundedSums::make({roots})->with_copy(nullptr, source, target);
  for (const SumRun& run : UnroundedSums::of(copied)->runs()) EXPECT_TRUE(run.is_root);
}

}  // namespace
}  // namespace simmesh
