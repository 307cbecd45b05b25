#include "checkpoint/hugging_face/weight_map.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

std::string map_problem(const std::string& text) {
  MemoryStore store;
  testing::add_file(store, "m/index.json", text);
  return simmesh::testing::error_text([&] { read_weight_map(store, "m", "index.json"); });
}

TEST(WeightMap, NamesFilesOfTheFolder) {
  MemoryStore store;
  testing::add_file(store, "m/index.json", R"({"weight_map":{"b":"2.bin","a":"1.bin"}})");
  EXPECT_EQ(read_weight_map(store, "m", "index.json"),
            (std::map<std::string, std::string>{{"a", "1.bin"}, {"b", "2.bin"}}));
  for (const char* text : {"[", "{}", R"({"weight_map":[]})"})
    EXPECT_THAT(map_problem(text), HasSubstr("memory/m/index.json: ")) << text;
  for (const char* file : {"3", "\"\"", "\"../x\"", "\"/etc/x\""})
    EXPECT_THAT(map_problem(std::string(R"({"weight_map":{"a":)") + file + "}}"),
                HasSubstr("the file of 'a' is"));
}

}  // namespace
}  // namespace simmesh::checkpoint
