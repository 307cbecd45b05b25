#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;
constexpr const char* other_module_hash = "0000000000000000";

json a_module() {
  return testing::first_with("../pytorch_ops/module.jsonl", [](const json& each) {
    return each["id"] == "module/col_row/2150.0";
  });
}

// Each comparison that never fires would let a wrong result pass as right.
TEST(VerifyModule, NamesWhatDiffers) {
  json value = a_module();
  testing::expect_passes(value);
  testing::expect_fails(value, "/params_after/1/hash/0", other_module_hash, "rank 0: parameter");
  testing::expect_fails(value, "/grads/0/hash/1", other_module_hash, "rank 1: gradient");
  testing::expect_fails(value, "/output/hash/0", other_module_hash, "rank 0: output: bits");
  testing::expect_fails(value, "/comm_forward/all_reduce", 9, "collectives forward");
  testing::expect_fails(value, "/comm_backward/all_reduce", 9, "collectives backward");
}

// Results that are paired by their places alone would pass under the names of others.
TEST(VerifyModule, ComparesNames) {
  json value = a_module();
  testing::expect_fails(value, "/params_after/0/name", "other", "rank 0: name of parameter 0");
  testing::expect_fails(value, "/grads/2/name", "other", "rank 1: name of gradient 2");
}

// A gradient that is left out would never be asked for.
TEST(VerifyModule, RefusesAFloatingInputWithoutItsGradient) {
  json value = a_module();
  value.erase("input_grad");
  testing::expect_error<BadCase>([&] { testing::verify_value(value); }, ErrorKind::value_error,
                                 "input_grad where the input has a gradient");
}

}  // namespace
}  // namespace simmesh
