#include "replay/report/memory_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

TEST(MemorySvg, DrawsBothCurvesToOneScale) {
  MemoryPlan plan;
  plan.sum_bytes = 8 << 20;
  plan.lazy_peak_bytes = 4 << 20;
  plan.lazy_curve = {{7, 0}, {9, 4 << 20}};
  plan.pre_curve = {{7, 8 << 20}, {9, 8 << 20}};
  std::string svg = memory_svg(plan);
  EXPECT_THAT(svg, HasSubstr("class=\"pre\" points=\"96.00,14.00 1156.00,14.00\""));
  EXPECT_THAT(svg, HasSubstr("class=\"lazy\" points=\"96.00,174.00 1156.00,94.00\""));
  EXPECT_THAT(svg, HasSubstr(">8192.0 KiB<"));
  EXPECT_THAT(svg, HasSubstr("node 7"));
}

// A peak of one operator among many is drawn nevertheless.
TEST(MemorySvg, KeepsThePeakOfALongCurve) {
  MemoryPlan plan;
  plan.sum_bytes = plan.lazy_peak_bytes = 1000;
  for (int i = 0; i < 100'000; ++i) plan.lazy_curve.push_back({i, i == 77'777 ? 1000 : 0});
  EXPECT_THAT(memory_svg(plan), HasSubstr(",14.00"));
}

TEST(MemorySvg, APlanWithoutMemoryIsNoFault) { EXPECT_THAT(memory_svg({}), HasSubstr("</svg>")); }

}  // namespace
}  // namespace simmesh::replay
