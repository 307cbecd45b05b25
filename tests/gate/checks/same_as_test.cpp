#include <gmock/gmock.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

TEST(SameAsCheck, ComparesWithOtherRuns) {
  GateResult result = testing::run_text(
      testing::sharded_layer +
      "[expect]\nsame_as = [\"single_device\", \"replicate\", \"fsdp\", { mesh = [2, 2], names = "
      "[\"a\", \"b\"], parallel = { fsdp = { mesh = [\"a\", \"b\"] } } }]\n" +
      testing::exact_mode);
  EXPECT_EQ(result.failed(), 0) << testing::text_of(result);
  EXPECT_TRUE(testing::check_of(result, "same_as replicate").passed);
  EXPECT_TRUE(testing::check_of(result, "same_as fsdp on [2, 2]").passed);
}

// Each comparison is with its own run: a run that differs must not be hidden by one that doesn't.
TEST(SameAsCheck, TellsOtherRunsApart) {
  GateResult result = testing::run_text(
      "[mesh]\nshape = [3]\n[model]\nwidth = 6\ninit = { scale = 0.5 }\n[data]\nrule = \"wide\"\n"
      "batch = 30\n[parallel]\nfsdp = {}\n[expect]\nsame_as = [\"single_device\", \"fsdp\"]\n");
  EXPECT_FALSE(testing::check_of(result, "same_as single_device").passed);
  EXPECT_TRUE(testing::check_of(result, "same_as fsdp").passed);
}

// An expert that no token chose has no gradient on one device, but a gradient of zeros if sharding
// reduces unused parameters. The check must name the expert and say why it differs.
TEST(SameAsCheck, SaysWhyAnIdleExpertDiffers) {
  GateResult result = testing::run_text(
      "[mesh]\nshape = [2]\n[model]\nkind = \"moe\"\nlayers = 1\nwidth = 8\nheads = 2\n"
      "vocabulary = 11\nexperts = 8\ntop_k = 1\nhidden = 4\n[data]\nbatch = 2\nsequence = 2\n"
      "[parallel]\nfsdp = {}\n[train]\nsteps = 2\noptimizer = { kind = \"adamw\" }\n" +
      testing::exact_mode + "[expect]\nsame_as = [\"single_device\"]\n");
  const GateCheck& check = testing::check_of(result, "same_as single_device");
  EXPECT_FALSE(check.passed);
  EXPECT_THAT(check.actual,
              HasSubstr("one of zeros on rank 0: step 0 gradient of block0.mlp.experts.expert"));
  EXPECT_THAT(check.actual, HasSubstr("no rank used this parameter in the step"));
}

// The check can fail: canonical sums depend on how the batch is cut.
TEST(SameAsCheck, CanonicalSumsAreNotThoseOfOneDevice) {
  std::string on_four = testing::replicated_mlp;
  on_four.replace(on_four.find("[2]"), 3, "[4]");
  GateResult result = testing::run_text(on_four + "[expect]\nsame_as = [\"single_device\"]\n");
  const GateCheck& check = testing::check_of(result, "same_as single_device");
  EXPECT_FALSE(check.passed);
  EXPECT_THAT(check.actual, HasSubstr("on rank 0: step 0 "));
  EXPECT_THAT(check.expected, HasSubstr("(bits "));
}

TEST(SameAsCheck, RefusesRunsThatCanNotBe) {
  auto refusal = [](const std::string& entry) {
    return testing::refusal_of(testing::sharded_layer + "[expect]\nsame_as = [" + entry + "]\n");
  };
  EXPECT_THAT(refusal("\"zero4\""),
              HasSubstr("'zero3' or a table with mesh and parallel, got 'zero4'"));
  EXPECT_THAT(refusal("{ mesh = [2], parallel = { fdsp = {} } }"),
              HasSubstr("the nearest known key is 'expect.same_as.parallel.fsdp'"));
  EXPECT_THAT(
      refusal("{ mesh = [16], parallel = { fsdp = {} } }"),
      HasSubstr("rows for each of 16 ranks in each of 1 micro-batches, got same_as fsdp on [16]"));
}

}  // namespace
}  // namespace simmesh
