#include "tests/verify/typed/typed_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::typed_case;

json type_rule(const std::string& id) { return typed_case("rules.jsonl", id); }

// Each check that never fires would let a wrong type pass as right.
TEST(VerifyTypeRule, NamesWhatDiffers) {
  json sum = type_rule("rule/local/sum/P/g");
  testing::expect_passes(sum);
  testing::expect_fails(sum, "/result/0/t/tp", "R", "result 0: types: expected {tp: R}");
  testing::expect_fails(sum, "/result/0/shape", {1}, "result 0: shape: expected [1], got []");
  testing::expect_fails(sum, "/operands/0/t/tp", "V", "got {tp: V}");
  json gather = type_rule("rule/global_collective/all_gather/S(0)>R/S(0)");
  testing::expect_fails(gather, "/backward/0/op", "all_gather", "backward calls: expected");
  testing::expect_fails(gather, "/operands/0/t/tp", "S(1)", "expected input shard");
  json cut = type_rule("rule/global/neg/S(1)/g");
  testing::expect_fails(cut, "/result/0/spec", {{"tp"}, nullptr}, "cuts: expected [[tp], null]");
}

TEST(VerifyTypeRule, ComparesRefusals) {
  json mixed = type_rule("rule/local/add_/P;I/gg");
  testing::expect_passes(mixed);
  testing::expect_fails(mixed, "/refused/axis", "dp", "on axis dp, got SpmdTypeError");
  testing::expect_fails(mixed, "/refused/code", "mutation", "(mutation)");
  testing::expect_fails(mixed, "/refused/phrase", "no", "words of the refusal");
  testing::expect_fails(mixed, "/operands/1/t/tp", "P", "got an accepted call");
}

TEST(VerifyTypeRule, RejectsWhatIsNoCall) {
  json sum = type_rule("rule/local/sum/P/g");
  testing::expect_bad(sum, "/mesh/names", {"tp", "dp"}, "a name for each axis");
  testing::expect_bad(sum, "/mesh/shape/0", 65, "at most 64 ranks");
  testing::expect_bad(sum, "/operands/0/t/tp", "S(2)", "a dim of the tensor");
  testing::expect_bad(sum, "/operands/0/t/tp", "Q", "R, I, V, P or S(d)");
}

// If this fails, a rule that values contradict passes since the record has it.
TEST(VerifyTypeRule, RefutesTheDisputedRules) {
  testing::expect_refuted("rule/local/sum_int64/P/n", "stand for");
  testing::expect_refuted("rule/two_axes/bernoulli/I,I/n", "result 0 is I on dp, but rank (dp 0");
  testing::expect_refuted("rule/local/repeat_interleave_tensor/P;P/gn", "has the shape");
  testing::expect_refuted("rule/annotate/assert_type/S(0)/P", "cuts its dim 0");
  testing::expect_refuted("rule/global_collective/all_to_all/S(0)>S(0)/S(0)", "stands for");
  testing::expect_refuted("rule/backward/autograd.grad/R", "is typed {tp: R}");
  testing::expect_refuted("rule/backward/autograd.backward/V", "backward() of the same loss");
  testing::expect_refuted("rule/backward/autograd.backward/P", "backward() of the same loss");
  testing::expect_refuted("rule/local/alias_getitem/P/g", "select of the same operands");
}

}  // namespace
}  // namespace simmesh
