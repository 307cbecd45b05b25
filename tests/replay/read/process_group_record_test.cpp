#include "replay/read/process_group_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(ProcessGroupRecord, ReadsWhatPyTorchWrites) {
  auto groups = read_process_groups(
      R"([{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": [],)"
      R"("group_size": 4, "group_count": 2},)"
      R"({"pg_name": 7, "backend_id": 1, "ranks": [1, 3], "group_size": 2}])");
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].name, "0");
  EXPECT_EQ(groups[0].description, "default_pg");
  EXPECT_EQ(groups[0].backend, "cuda:nccl");
  EXPECT_EQ(groups[0].size, 4);
  EXPECT_EQ(groups[0].count, 2);
  EXPECT_EQ(groups[1].name, "7");
  EXPECT_THAT(groups[1].ranks, ElementsAre(1, 3));
}

TEST(ProcessGroupRecord, RefusesWhatWasCut) {
  std::string text = R"([{"pg_name": "0", "ranks": [1]}])";
  for (std::size_t count = 0; count < text.size(); ++count)
    EXPECT_THROW(read_process_groups(text.substr(0, count)), simdjson::simdjson_error) << count;
  EXPECT_THROW(read_process_groups(R"({"pg_name": "0"})"), simdjson::simdjson_error);
  EXPECT_THROW(read_process_groups(R"([{"ranks": ["a"]}])"), simdjson::simdjson_error);
}

}  // namespace
}  // namespace simmesh::replay
