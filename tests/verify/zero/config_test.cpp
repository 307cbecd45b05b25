#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json config_case(const std::string& id) {
  return testing::first_with("../zero/config.jsonl",
                             [&](const json& each) { return each["id"] == id; });
}

TEST(VerifyZeroConfig, PassesRecordedCases) {
  for (const char* id :
       {"defaults", "alias_and_plain", "batch_two", "engine_untested", "engine_ok_s3"})
    testing::expect_passes(config_case(id));
}

TEST(VerifyZeroConfig, NamesWhatDiffers) {
  json value = config_case("stage3_defaults");
  testing::expect_fails(value, "/expect/values/stage", 2, "stage: expected 2, got 3");
  testing::expect_fails(value, "/expect/values/unheard_of", 2, "unheard_of' is not known");
  testing::expect_fails(value, "/expect/values/offload_param", json{{"device", "cpu"}},
                        "offload_param: expected");
  testing::expect_fails(value, "/config/zero_optimization/stage", 7, "expected no error, got");
  json refused = config_case("float_fraction");
  testing::expect_fails(refused, "/expect/field", "sub_group_size", "names sub_group_size");
  testing::expect_fails(refused, "/expect/error", "TypeError", "expected a TypeError");
  testing::expect_fails(refused, "/config/zero_optimization/reduce_bucket_size", 5, "got none");
}

// Reasons with alike words must not be taken for one another.
TEST(VerifyZeroConfig, TellsReasonsApart) {
  auto with_reason = [](const char* why) {
    return testing::first_with("../zero/config_keys.jsonl", [&](const json& each) {
      return each["expect"].contains("why") && each["expect"]["why"] == why;
    });
  };
  testing::expect_fails(with_reason("literal_error"), "/expect/why", "enum", "the other kind");
  testing::expect_fails(with_reason("enum"), "/expect/why", "literal_error", "the other kind");
  testing::expect_fails(with_reason("value_error"), "/expect/why", "enum", "phrase: expected");
  testing::expect_fails(with_reason("value_error"), "/expect/why", "assertion_error",
                        "phrase: expected 'Assertion failed, ' of assertion_error, got 'Value");
}

TEST(VerifyZeroConfig, BadCasesSayWhere) {
  testing::expect_bad(config_case("defaults"), "/expect/ok", false, "values where it is ok");
}

}  // namespace
}  // namespace simmesh
