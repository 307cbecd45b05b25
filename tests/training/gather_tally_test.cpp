#include "training/gather_tally.h"

#include <array>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

using fsdp::EventKind;

// Groups are only told apart by their addresses.
const fsdp::FSDPParamGroup* group(std::size_t index) {
  static std::array<std::byte, 8> places;
  return reinterpret_cast<const fsdp::FSDPParamGroup*>(&places[index]);
}

void gather(GatherTally& tally, std::size_t index) {
  tally.see({.kind = EventKind::all_gather, .group = group(index)});
}
void use(GatherTally& tally, std::size_t index) {
  tally.see({.kind = EventKind::wait, .group = group(index)});
}

// If this fails, a gate that bounds useless gathers passes whatever is gathered.
TEST(GatherTally, GathersThatNobodyWaitsForAreUnused) {
  GatherTally tally;
  gather(tally, 0);
  gather(tally, 1);
  EXPECT_EQ(tally.unused(), 2);
  use(tally, 0);
  EXPECT_EQ(tally.started(), 2);
  EXPECT_EQ(tally.unused(), 1);
  tally.see({.kind = EventKind::finalize, .group = group(1), .drops_gather = true});
  EXPECT_EQ(tally.unused(), 1);
  gather(tally, 1);
  use(tally, 1);
  EXPECT_EQ(tally.started(), 3);
  EXPECT_EQ(tally.unused(), 1);
}

// If this fails, a group of one rank, which gathers nothing, makes counts negative.
TEST(GatherTally, WhatWasntGatheredDoesntCount) {
  GatherTally tally;
  use(tally, 0);
  tally.see({.kind = EventKind::finalize, .group = group(0), .drops_gather = true});
  gather(tally, 0);
  tally.see({.kind = EventKind::finalize, .group = group(0)});
  EXPECT_EQ(tally.started(), 1);
  EXPECT_EQ(tally.unused(), 1);
}

}  // namespace
}  // namespace simmesh
