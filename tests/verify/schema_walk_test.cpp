#include "verify/schema_walk.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

// A place that the walk doesn't reach is never changed by `simmesh falsify`.
TEST(SchemaWalk, VisitsEachPlaceWithItsMarks) {
  using namespace schema;
  Schema whole = object({required("kind", text()), required("id", text()),
                         expected("sums", list(object({required("x", integer())}))),
                         label("notes", map(text()))});
  RecordedCase recorded = RecordedCase::parse(
      R"({"kind": "k", "id": "i", "sums": [{"x": 1}], "notes": {"a": "b"}})", {});
  std::vector<std::string> seen;
  for_each_spot(whole_case(recorded, *whole), [&](const Spot& spot) {
    std::string marks = spot.is_result ? " result" : "";
    if (!spot.why_idle.empty()) marks += " idle";
    if (spot.is_free) marks += " free";
    seen.push_back(spot.at.to_string() + marks);
  });
  EXPECT_THAT(seen,
              ::testing::ElementsAre("", "/kind", "/id", "/sums result", "/sums/0 result",
                                     "/sums/0/x result", "/notes idle", "/notes/a idle free"));
}

}  // namespace
}  // namespace simmesh
