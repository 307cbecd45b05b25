#include "verify/case_mesh.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

CaseMesh read(const std::string& fields) {
  return read_mesh(RecordedCase::parse(R"({"kind":"k","id":"i",)" + fields + "}", {}));
}

TEST(CaseMesh, ReadsMeshAndWorld) {
  CaseMesh mesh = read(R"("mesh":{"shape":[2,3],"names":["dp","tp"]})");
  EXPECT_EQ(mesh.world, 6);
  EXPECT_EQ(mesh.view(4), DeviceMesh::init({4, 6}, {2, 3}, {"dp", "tp"}));
  CaseMesh placed = read(R"("mesh":{"shape":[2],"ranks":[5,3]},"world":8)");
  EXPECT_EQ(placed.world, 8);
  EXPECT_THAT(*placed.view(3).get_coordinate(), ElementsAre(1));
  EXPECT_FALSE(placed.view(0).get_coordinate());
  EXPECT_EQ(placed.rank_list(), RankList::of({5, 3}));
}

// A hostile file must not make the program hold a world that no machine has.
TEST(CaseMesh, BoundsTheWorld) {
  ErrorKind value = ErrorKind::value_error;
  expect_error([] { read(R"("mesh":{"shape":[1048577]})"); }, value, "at most 2^20 ranks");
  expect_error([] { read(R"("mesh":{"shape":[2]},"world":1048577)"); }, value,
               "integer in 1 .. 1048576");
  expect_error([] { read(R"("mesh":{"shape":[4294967296,4294967296]})"); }, value, "2^63");
  expect_error([] { read(R"("mesh":{"shape":[2],"ranks":"all"})"); }, value, "expected a list");
  EXPECT_EQ(read(R"("mesh":{"shape":[0,5]})").world, 1);
}

}  // namespace
}  // namespace simmesh
