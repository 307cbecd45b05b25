#include "sharding/strategies/view_placements.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

// "used -> output" of a view, or its error.
std::string viewed(const Shape& from, const char* given, const Shape& mesh_shape, const Shape& to,
                   bool is_strict = true) {
  ViewMap map = reshaping_map(from, to);
  std::optional<Placements> placements = parse_placements(given);
  Attributes none;
  MeshRequest request{{{}, {}, none}, {&placements, 1}, mesh_shape};
  try {
    MeshCandidate result =
        viewed_placements(request, {.from = from, .to = to, .map = map, .is_strict = is_strict});
    return to_string(PlacementSpan(*result.inputs[0])) + " -> " +
           to_string(PlacementSpan(*result.outputs[0]));
  } catch (const Error& error) {
    return std::string(error.message());
  }
}

TEST(ViewPlacements, MergedDims) {
  EXPECT_EQ(viewed({4, 6}, "S(0)", {2}, {24}), "S(0) -> S(0)");
  EXPECT_EQ(viewed({4, 5}, "S(1)", {2}, {20}), "S(1) -> _S(0,4)");
  EXPECT_EQ(viewed({4, 6}, "S(1),S(1)", {2, 2}, {24}), "S(1),S(1) -> _S(0,4),_S(0,4)");
  EXPECT_EQ(viewed({4, 6}, "S(1),S(0)", {2, 2}, {24}), "S(1),S(0) -> _S(0,4),S(0)");
  EXPECT_EQ(viewed({4, 6}, "S(0),S(1)", {2, 2}, {24}), "S(0),S(1) -> S(0),_S(0,2)");
  EXPECT_EQ(viewed({4, 6}, "_S(1,3)", {2}, {24}), "_S(1,3) -> _S(0,12)");
  EXPECT_EQ(viewed({4, 6}, "_S(1,4)", {2}, {24}), "R -> R");  // chunks would cross rows
  EXPECT_EQ(viewed({4, 6}, "_S(0,2)", {3}, {24}), "R -> R");  // unequal parts
  EXPECT_EQ(viewed({4, 6}, "Ragged([1,3])", {2}, {24}), "Ragged([1,3]) -> Ragged([1,3])");
}

TEST(ViewPlacements, PartsOfADim) {
  EXPECT_EQ(viewed({24}, "S(0)", {2}, {4, 6}), "S(0) -> S(0)");
  EXPECT_EQ(viewed({24}, "_S(0,4)", {4}, {4, 6}),
            "_S(0,4) -> S(1)");  // the last part may be uneven
  EXPECT_EQ(viewed({24}, "_S(0,2)", {2}, {4, 6}), "_S(0,2) -> _S(0,2)");
  EXPECT_EQ(viewed({24}, "_S(0,4)", {3}, {2, 12}), "_S(0,4) -> _S(1,2)");
  EXPECT_EQ(viewed({24}, "_S(0,8)", {3}, {4, 6}), "_S(0,8) -> _S(1,2)");
  EXPECT_EQ(viewed({24}, "S(0),_S(0,2)", {2, 2}, {4, 6}), "S(0),_S(0,2) -> S(0),S(1)");
  EXPECT_EQ(viewed({16}, "S(0),S(0)", {2, 2}, {2, 2, 4}), "S(0),S(0) -> S(0),S(1)");
  EXPECT_EQ(viewed({24}, "Ragged([1,3])", {2}, {4, 6}), "Ragged([1,3]) -> Ragged([1,3])");
  EXPECT_EQ(viewed({24}, "Ragged([1,2])", {2}, {4, 6}), "R -> R");
}

TEST(ViewPlacements, DimsCutAnew) {
  EXPECT_EQ(viewed({4, 6}, "S(0)", {2}, {6, 4}), "S(0) -> S(0)");
  EXPECT_EQ(viewed({4, 6}, "S(1)", {2}, {6, 4}), "R -> R");
  EXPECT_EQ(viewed({4, 6}, "S(0),S(1)", {2, 2}, {6, 4}), "S(0),R -> S(0),R");
}

TEST(ViewPlacements, PartialTensorsPassButLookups) {
  EXPECT_EQ(viewed({4, 6}, "P(product),NormP(2)", {2, 2}, {24}),
            "P(product),NormP(2) -> P(product),NormP(2)");
  EXPECT_EQ(viewed({4, 6}, "MaskP(sum,[8,6],0)", {2}, {24}), "R -> R");
}

TEST(ViewPlacements, StrictOnesRefuseAndOthersGather) {
  struct {
    Shape from;
    const char* given;
    Shape mesh, to;
    const char* text;
  } const cases[] = {
      {{5, 4}, "S(0)", {2}, {20}, "Cannot flatten unevenly"},
      {{6, 4}, "S(0),S(0)", {2, 2}, {24}, "Cannot flatten unevenly"},
      {{8}, "S(0)", {4}, {2, 4}, "Cannot unflatten unevenly"},
      {{24}, "_S(0,3)", {2}, {4, 6}, "Cannot unflatten tensor with _StridedShard"},
      {{1, 4}, "S(0)", {2}, {4}, "requires redistribution"},
  };
  for (const auto& one : cases) {
    EXPECT_NE(viewed(one.from, one.given, one.mesh, one.to).find(one.text), std::string::npos)
        << viewed(one.from, one.given, one.mesh, one.to);
    EXPECT_NE(viewed(one.from, one.given, one.mesh, one.to, false).find("R -> "),
              std::string::npos);
  }
}

}  // namespace
}  // namespace simmesh
