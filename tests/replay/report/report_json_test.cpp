#include "replay/report/report_json.h"

#include <gtest/gtest.h>

#include "core/check/json_value.h"
#include "tests/replay/report/reported_job.h"

namespace simmesh::replay {
namespace {

std::int64_t number(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  return value && value->get<std::int64_t>() ? *value->get<std::int64_t>() : -1;
}

std::size_t entries(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  return value && value->get<JsonValue::List>() ? value->get<JsonValue::List>()->size() : 0;
}

TEST(ReportJson, HasWhatTheTextHas) {
  JsonValue json = JsonValue::parse(to_json(samples::dlrm_report()));
  EXPECT_EQ(entries(json, "traces"), 8u);
  EXPECT_EQ(entries(json, "checks"), 14u);
  EXPECT_EQ(entries(json, "all_to_alls"), 5u);
  EXPECT_EQ(entries(json, "what_if"), 2u);
  EXPECT_EQ(number(json, "passed"), 14);
  EXPECT_EQ(number(json, "failed"), 0);
  ASSERT_NE(json.find("replay"), nullptr);
  EXPECT_EQ(number(*json.find("replay"), "communications"), 64);
  ASSERT_NE(json.find("times"), nullptr);
  EXPECT_EQ(entries(*json.find("times"), "collectives"), 8u);
  EXPECT_EQ(entries(*json.find("times"), "ranks"), 8u);
  EXPECT_EQ(entries(*json.find("links"), "collectives"), 8u);
}

TEST(ReportJson, NamesRankNodeAndFieldOfAFinding) {
  JsonValue json = JsonValue::parse(to_json(samples::report_of("trace_bad/split_sum")));
  const auto* findings = json.find("findings")->get<JsonValue::List>();
  ASSERT_FALSE(findings->empty());
  EXPECT_TRUE((*findings)[0].find("rule")->is_text("split_sum"));
  EXPECT_EQ(number((*findings)[0], "node"), 4);
  EXPECT_EQ(json.find("times"), nullptr);
}

}  // namespace
}  // namespace simmesh::replay
