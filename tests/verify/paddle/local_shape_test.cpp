#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

TEST(VerifyPaddleLocalShape, NamesWhatDiffers) {
  json value = testing::first_with("../paddle/local_shape.jsonl", [](const json&) { return true; });
  testing::expect_passes(value);
  testing::expect_fails(value, "/local/1/shape/0", 77, ": shape: expected");
  testing::expect_fails(value, "/local/1/offset/0", 77, ": offset: expected");
  testing::expect_bad(value, "/local", json::array({value["local"][0]}),
                      "one entry a coordinate of the mesh");
}

}  // namespace
}  // namespace simmesh
