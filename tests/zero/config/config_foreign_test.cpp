#include "zero/config/config_foreign.h"

#include <gtest/gtest.h>
#include <set>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

void expect_foreign_refused(const std::string& config, const std::string& phrase,
                            ErrorKind kind = ErrorKind::value_error) {
  expect_error([&] { check_foreign_sections(JsonValue::parse(config)); }, kind, phrase);
}

// If this fails, a section that DeepSpeed refuses passes here because nothing reads it.
TEST(ForeignSections, RefusesWhatDeepSpeedsClassesRefuse) {
  expect_foreign_refused(R"({"wandb": {"enabled": "maybe"}})", "wandb.enabled: expected a valid");
  expect_foreign_refused(R"({"wandb": {"no_such_key": 1}})", "wandb.no_such_key: expected a known");
  expect_foreign_refused(R"({"wandb": 1})", "wandb: expected an object");
  expect_foreign_refused(R"({"compile": 1})", "compile: expected an object", ErrorKind::type_error);
  expect_foreign_refused(R"({"compile": {"passes": ["z2"]}})", "compile.passes: expected 'z1'");
  expect_foreign_refused(R"({"hybrid_engine": {"max_out_tokens": 0}})", "greater than 0");
  expect_foreign_refused(R"({"tensor_parallel": {"dtype": "fp16"}})", "tensor_parallel.dtype");
  expect_foreign_refused(R"({"tensor_parallel": {"tp": {"size": 1}}})", "tensor_parallel.tp.size");
  expect_foreign_refused(R"({"zero_optimization": {"zenflow": {"topk_ratio": 1}}})", "less than 1");
  expect_foreign_refused(R"({"zero_optimization": {"zenflow": {"update_interval": "x"}}})",
                         "'auto' or an integer");
}

TEST(ForeignSections, TakesWhatDeepSpeedsClassesTake) {
  check_foreign_sections(JsonValue::parse(R"({
    "wandb": {"enabled": "auto", "team": null, "unknown": "auto"}, "comet": {"online": 1},
    "compile": {"passes": null, "deepcompile": "no"}, "timers": {"throughput": {"enabled": false}},
    "tensor_parallel": {"tp": {"tp_size": 1, "mpu": "x"}, "kernel_inject": false},
    "zero_optimization": {"stage": 2, "zenflow": null}})"));
}

// If this fails, one of two keys of a section is never checked.
TEST(ForeignSections, HaveEachKeyOnce) {
  for (const ForeignSection& section : foreign_sections()) {
    std::set<std::string> names;
    for (const ForeignKey& key : section.keys)
      for (const std::string& name : {key.name, key.alias})
        EXPECT_TRUE(name.empty() || names.insert(name).second) << section.path << "." << name;
  }
}

TEST(ValueAt, FollowsAPath) {
  JsonValue config = JsonValue::parse(R"({"a": {"b": {"c": 3}}, "d": 1})");
  EXPECT_EQ(value_at(config, "a.b.c")->text(), "3");
  EXPECT_EQ(value_at(config, "a.x.c"), nullptr);
  EXPECT_EQ(value_at(config, "d.e"), nullptr);
}

}  // namespace
}  // namespace simmesh::zero
