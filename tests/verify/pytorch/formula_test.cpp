#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json a_formula_case() {
  return testing::first_with("formula.jsonl",
                             [](const json& each) { return each["tensor"]["dtype"] == "float32"; });
}

TEST(VerifyFormula, AgreesWithAllRecordedCases) {
  for (const json& value : testing::recorded_values("formula.jsonl")) testing::expect_passes(value);
}

// Each check that never fires would let wrong data pass as right.
TEST(VerifyFormula, NamesWhatDiffers) {
  testing::expect_fails(a_formula_case(), "/h/2", "0000000000000000",
                        "h of element 2: expected 0000");
  testing::expect_fails(a_formula_case(), "/bits/3", "00000000",
                        "bits of element 3: expected 00000000");
  testing::expect_fails(a_formula_case(), "/hash", "0000000000000000", "hash: expected 0000");
  testing::expect_fails(a_formula_case(), "/tensor/seed", 1, "h of element 0: expected");
  testing::expect_fails(a_formula_case(), "/tensor/rule", "loud",
                        "'loud' is not known, expected wide");
  testing::expect_fails(a_formula_case(), "/tensor/shape", json::array({3}),
                        "bits: number of entries: expected 20, got 3");
  testing::expect_fails(a_formula_case(), "/h", json::array(), "h: number of entries: expected 0");
  testing::expect_fails(a_formula_case(), "/tensor/colour", 1, "colour' is not known");
}

TEST(VerifyFormula, RejectsMalformedFields) {
  testing::expect_bad(a_formula_case(), "/h", 5, "field 'h'");
  testing::expect_bad(a_formula_case(), "/hash", 5, "field 'hash'");
  testing::expect_bad(a_formula_case(), "/tensor/shape", json::array({1 << 20, 1 << 20}),
                      "at most");
}

}  // namespace
}  // namespace simmesh
