#include "core/page/sections.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

TEST(Sections, ChecksHaveWhatWasExpectedAndWhatCame) {
  EXPECT_EQ(checks_section({{"loss", false, "0.5", "0.25"}}, "simmesh run a.toml").text(),
            R"({"kind":"checks","title":"Checks","rows":[{"name":"loss","passed":false,)"
            R"("expected":"0.5","got":"0.25"}],"reproduce":"simmesh run a.toml"})");
}

TEST(Sections, TablesKeepTheTypesOfTheirCells) {
  JsonValue::List rows;
  rows.emplace_back(JsonValue::List{"all_reduce", 3});
  EXPECT_EQ(table_section("Calls", {"name", "calls"}, rows, "a line").text(),
            R"({"kind":"table","title":"Calls","about":"a line","columns":["name","calls"],)"
            R"("rows":[["all_reduce",3]]})");
}

TEST(Sections, TextsAndFailuresAreKeptAsTheyAre) {
  EXPECT_EQ(text_section("Gate", "a\nb").text(), R"({"kind":"text","title":"Gate","text":"a\nb"})");
  EXPECT_EQ(
      failure_section("A deadlock", "no rank\n  rank 0: could have run").text(),
      R"({"kind":"failure","title":"A deadlock","text":"no rank\n  rank 0: could have run"})");
}

TEST(Sections, AMeshSaysWhatItsDimsAreFor) {
  EXPECT_EQ(mesh_section({2, 4}, {"dp", "tp"}, {"fsdp", ""}).text(),
            R"({"kind":"mesh","title":"Mesh","shape":[2,4],"names":["dp","tp"],)"
            R"("uses":{"dp":"fsdp"}})");
}

TEST(Sections, AFaultHasBothValues) {
  EXPECT_EQ(fault_section({"First", "rank 1, weight[3]", "0.5", "0.25"}).text(),
            R"({"kind":"fault","title":"First","where":"rank 1, weight[3]","expected":"0.5",)"
            R"("got":"0.25"})");
}

TEST(Sections, CurvesHaveTheirCategories) {
  PageCurves curves{
      .unit = "operation", .categories = {"gradient"}, .curves = {{"rank 0", {0, 2}, {{8, 16}}}}};
  EXPECT_EQ(memory_section(curves).text(),
            R"({"kind":"memory","title":"Memory over time, by category","unit":"operation",)"
            R"("stacked":true,"categories":["gradient"],"curves":[{"title":"rank 0","at":[0,2],)"
            R"("bytes":[[8,16]]}]})");
}

TEST(Sections, MatricesHaveTheirMembers) {
  EXPECT_EQ(matrices_section("Bytes", {{"first", {"0", "1"}, {{0, 8}, {4, 0}}}}).text(),
            R"({"kind":"matrices","title":"Bytes","matrices":[{"title":"first",)"
            R"("members":["0","1"],"cells":[[0,8],[4,0]],"unit":"bytes"}]})");
}

}  // namespace
}  // namespace simmesh
