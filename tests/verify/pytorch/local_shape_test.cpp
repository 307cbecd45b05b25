#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json a_local_shape_case() {
  return testing::first_with("local_shape.jsonl", [](const json& each) {
    return each["tensor"]["shape"] == json::array({13, 8}) && each["local"].size() > 4;
  });
}

TEST(VerifyLocalShape, AgreesWithAllRecordedCases) {
  for (const json& value : testing::recorded_values("local_shape.jsonl"))
    testing::expect_passes(value);
}

// Each check that never fires would let wrong pieces pass as right.
TEST(VerifyLocalShape, NamesWhatDiffers) {
  json value = a_local_shape_case();
  testing::expect_fails(value, "/local/1/shape/0", 99, "shape: expected [99");
  testing::expect_fails(value, "/local/1/offset/1", 99, "offset: expected [");
  testing::expect_fails(value, "/local/0/shape/0", 99, "coordinate [0, 0]");
}

TEST(VerifyLocalShape, RejectsMalformedFields) {
  testing::expect_bad(a_local_shape_case(), "/local", json::array(), "at least 1 entry");
  json few = a_local_shape_case()["local"];
  few.erase(few.size() - 1);
  testing::expect_bad(a_local_shape_case(), "/local", few, "one entry a coordinate");
  testing::expect_bad(a_local_shape_case(), "/placements/0", "_S(0,99999999)", "a split factor");
  testing::expect_bad(a_local_shape_case(), "/local/1/shape", "x", "shape'");
  testing::expect_bad(a_local_shape_case(), "/placements/0", "S(zero)", "field 'placements.0'");
}

}  // namespace
}  // namespace simmesh
