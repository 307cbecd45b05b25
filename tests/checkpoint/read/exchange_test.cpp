#include "checkpoint/read/exchange.h"

#include <gmock/gmock.h>

#include "testing/gtest.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using simmesh::testing::expect_error;
using ::testing::HasSubstr;

// Texts of different lengths, one of them empty, arrive whole and in the order of the ranks.
TEST(Exchange, GathersTexts) {
  simmesh::testing::run_mesh_test({.mesh = {3}}, [](const DeviceMesh&) {
    std::int64_t rank = this_rank().id();
    std::vector<std::string> texts =
        all_gather_text(std::string(std::size_t(rank), char('a' + rank)), ProcessGroup::world());
    EXPECT_EQ(texts, (std::vector<std::string>{"", "b", "cc"}));
  });
}

// Every rank raises the error of the lowest rank that fails, and none waits.
TEST(Exchange, RaisesOnEveryRankWhatTheLowestRaises) {
  for (unsigned failing = 0; failing < 8; ++failing)
    simmesh::testing::run_mesh_test({.mesh = {3}, .schedules = 4}, [&](const DeviceMesh&) {
      std::int64_t rank = this_rank().id(), lowest = failing & 1 ? 0 : failing & 2 ? 1 : 2;
      std::string text = error_text([&] {
        together(ProcessGroup::world(), [&] {
          if (failing >> rank & 1) raise(ErrorKind::key_error, "test", "rank {} has no key", rank);
        });
      });
      if (failing == 0) {
        EXPECT_EQ(text, "");
        return;
      }
      EXPECT_THAT(text, HasSubstr(fmt::format("rank {} has no key", lowest)));
      EXPECT_EQ(text.find(fmt::format("rank {} failed: ", lowest)) != text.npos, rank != lowest);
    });
}

TEST(Exchange, KeepsTheKindOfAnError) {
  testing::run_world(2, [] {
    auto failing = [] {
      if (this_rank().id() == 1) raise(ErrorKind::key_error, "test", "gone");
    };
    expect_error([&] { together(ProcessGroup::world(), failing); }, ErrorKind::key_error);
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
