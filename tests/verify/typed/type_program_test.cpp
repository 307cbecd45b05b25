#include "tests/verify/typed/typed_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;

// A program with a backward pass, and one that is refused.
json accepted_program() { return testing::typed_case("programs.jsonl", "program/101/58"); }
json refused_program() { return testing::typed_case("programs.jsonl", "program/101/68"); }

TEST(VerifyTypeProgram, NamesWhatDiffers) {
  testing::expect_passes(accepted_program());
  testing::expect_fails(accepted_program(), "/types/v2/tp", "V", "types of v2: expected {tp: V}");
  testing::expect_fails(accepted_program(), "/grad_types/v2/tp", "R",
                        "types of the gradient of v2");
  testing::expect_fails(accepted_program(), "/shapes/v5", {4},
                        "shape of v5: expected [4], got [4, 1]");
  testing::expect_fails(accepted_program(), "/types/more", json::object(),
                        "types of more: expected {}");
  testing::expect_fails(accepted_program(), "/values", "disagree",
                        "expected a counter-example, got none");
}

TEST(VerifyTypeProgram, ComparesTheRefusedStep) {
  testing::expect_passes(refused_program());
  testing::expect_fails(refused_program(), "/refused/step", 3, "refused step: expected 3, got 11");
  testing::expect_fails(refused_program(), "/steps/0/op", "no_such_op", "got 'no_such_op'");
}

// If this fails, a tensor that was written through another name keeps a type that its values
// contradict, and nobody says so.
TEST(VerifyTypeProgram, RefutesTheDisputedPrograms) {
  testing::expect_refuted("program/404/1", "v0 is R on tp");
  testing::expect_refuted("program/404/0", "step 0, div_floor");
}

}  // namespace
}  // namespace simmesh
