#include "replay/report/picture_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

AllToAllMatrix matrix_of(std::size_t members, std::int64_t elements) {
  AllToAllMatrix matrix{.name = "all_to_all", .members = {}, .elements = {}, .item_bytes = 4};
  for (std::size_t i = 0; i < members; ++i) {
    matrix.members.push_back(std::int64_t(i) * 2);
    matrix.elements.emplace_back(members, elements);
  }
  return matrix;
}

TEST(PictureParts, AMatrixHasTheBytesBetweenItsMembers) {
  AllToAllMatrix matrix = matrix_of(2, 0);
  matrix.elements[1][0] = 10;
  std::string json = all_to_alls_part({matrix}).text();
  EXPECT_THAT(json, HasSubstr(R"("members":["rank 0","rank 2"],"cells":[[0,0],[40,0]])"));
}

// A group of thousands must not make a page of millions of cells.
TEST(PictureParts, RanksOfALargeGroupShareCells) {
  JsonValue json = all_to_alls_part({matrix_of(200, 1)});
  const JsonValue& matrix = (*json.find("matrices")->get<JsonValue::List>())[0];
  EXPECT_EQ(matrix.find("members")->get<JsonValue::List>()->size(), 64u);
  EXPECT_THAT(matrix.text(), HasSubstr(R"(["ranks 0 to 4",)"));
  EXPECT_THAT(matrix.text(), HasSubstr("[[36,"));
}

TEST(PictureParts, SayHowManyAreShown) {
  std::vector<AllToAllMatrix> many(20, matrix_of(1, 1));
  EXPECT_THAT(all_to_alls_part(many).text(), HasSubstr("the first 8 of 20"));
}

TEST(PictureParts, MemoryKeepsItsPeak) {
  ReportedTrace trace{.rank = 3, .file = "", .summary = {}, .memory = {}, .device = "cuda"};
  EXPECT_TRUE(memory_part({trace}).is_null());
  trace.memory.storages.resize(1);
  for (std::int64_t i = 0; i < 5000; ++i) {
    trace.memory.lazy_curve.push_back({.node = i, .bytes = i == 1234 ? 900 : 1});
    trace.memory.pre_curve.push_back({.node = i, .bytes = 2});
  }
  std::string json = memory_part({trace}).text();
  EXPECT_THAT(json, HasSubstr(R"("title":"rank 3, cuda")"));
  EXPECT_THAT(json, HasSubstr(",900,"));
  EXPECT_LT(json.size(), 20'000u);
}

}  // namespace
}  // namespace simmesh::replay
