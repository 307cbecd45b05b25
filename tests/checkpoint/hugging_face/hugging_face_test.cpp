#include "checkpoint/hugging_face/hugging_face.h"

#include <gmock/gmock.h>

#include "checkpoint/read/read_tensor.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using testing::bytes_of;
using ::testing::HasSubstr;
using testing::text_of;

// FolderInMemory is a folder of files in memory, each with tensors of bytes.
struct FolderInMemory {
  MemoryStore store;

  FolderInMemory& add(const std::string& file, const std::string& name, const Shape& shape,
                      const std::string& data, const std::string& sharding = "") {
    std::vector<std::byte> bytes = bytes_of(data);
    SafetensorsMetadata metadata;
    if (!sharding.empty()) metadata = {{"DCP_SHARDING_INFO", sharding}};
    write_safetensors(*store.create("m/" + file), {{name, StoredDType::u8, shape, bytes}},
                      metadata);
    return *this;
  }
  FolderInMemory& index(const std::string& text) {
    add_file(store, "m/model.safetensors.index.json", text);
    return *this;
  }
  std::string problem() const {
    return error_text([&] { read_hugging_face(store, "m"); });
  }
};

TEST(HuggingFace, ReadsTheFilesThatTheIndexNames) {
  FolderInMemory folder;
  folder.add("one.safetensors", "a", {2}, "12")
      .add("two.safetensors", "b", {1}, "3")
      .add("other.safetensors", "a", {1}, "4")
      .index(R"({"metadata":{},"weight_map":{"b":"two.safetensors","a":"one.safetensors"}})");
  Catalog catalog = read_hugging_face(folder.store, "m");
  ASSERT_EQ(catalog.tensors.size(), 2u);
  EXPECT_EQ(text_of(read_tensor(folder.store, {{}, "m"}, *catalog.find("a"))), "12");
  EXPECT_EQ(text_of(read_tensor(folder.store, {{}, "m"}, *catalog.find("b"))), "3");
}

// Rows of ranks in two files make one tensor, whose shape is their extent. Replicas count once.
TEST(HuggingFace, PutsBoxesOfRanksTogether) {
  FolderInMemory folder;
  folder.add("1.safetensors", "w", {2, 2}, "1234", R"({"w":{"saved_offsets":[0,0]}})")
      .add("2.safetensors", "w", {1, 2}, "56", R"({"w":{"saved_offsets":[2,0]}})")
      .add("3.safetensors", "w", {1, 2}, "56", R"({"w":{"saved_offsets":[2,0]}})");
  Catalog catalog = read_hugging_face(folder.store, "m");
  EXPECT_EQ(catalog.tensors[0].shape, (Shape{3, 2}));
  EXPECT_EQ(catalog.tensors[0].chunks.size(), 2u);
  EXPECT_EQ(text_of(read_tensor(folder.store, {{}, "m"}, catalog.tensors[0])), "123456");
}

// Two ranks that store one box with other bytes have diverged, and no load may choose in silence.
TEST(HuggingFace, NamesBoxesThatDiffer) {
  auto problems = [](const std::string& data) {
    FolderInMemory folder;
    folder.add("1.safetensors", "w", {2}, "12", R"({"w":{"saved_offsets":[0]}})")
        .add("2.safetensors", "w", {2}, data, R"({"w":{"saved_offsets":[0]}})");
    return copy_problems(folder.store, "m");
  };
  EXPECT_TRUE(problems("12").empty());
  ASSERT_EQ(problems("13").size(), 1u);
  EXPECT_THAT(problems("13")[0], HasSubstr("memory/m/2.safetensors: 'w' "));
  EXPECT_THAT(problems("13")[0], HasSubstr("has other bytes than in 1.safetensors"));
}

TEST(HuggingFace, RefusesAnIndexThatIsWrong) {
  auto with_index = [](const std::string& text) {
    return FolderInMemory().add("one.safetensors", "a", {2}, "12").index(text).problem();
  };
  EXPECT_EQ(with_index(R"({"weight_map":{"a":"one.safetensors"}})"), "");
  EXPECT_THAT(with_index(R"({"weight_map":{}})"), HasSubstr("the index says otherwise"));
  EXPECT_THAT(with_index("{"), HasSubstr("memory/m/model.safetensors.index.json: expected JSON"));
  EXPECT_THAT(with_index("[]"), HasSubstr("no object weight_map"));
  EXPECT_THAT(with_index(R"({"weight_map":[]})"), HasSubstr("no object weight_map"));
  EXPECT_THAT(with_index(R"({"weight_map":{"a":1}})"), HasSubstr("the file of 'a' is 1"));
  EXPECT_THAT(with_index(R"({"weight_map":{"a":"x","a":"y"}})"), HasSubstr("got a twice"));
  EXPECT_THAT(with_index(R"({"weight_map":{"b":"one.safetensors"}})"),
              HasSubstr("'a' is here, but the index says otherwise"));
  EXPECT_THAT(with_index(R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors"}})"),
              HasSubstr("'b' isn't in one.safetensors"));
  EXPECT_THAT(with_index(R"({"weight_map":{"a":"none.safetensors"}})"),
              HasSubstr("none.safetensors: no such file"));
}

// With an index of a hundred thousand names, quadratic time would be minutes.
TEST(HuggingFace, ReadsALargeIndex) {
  FolderInMemory folder;
  folder.add("one.safetensors", "a", {2}, "12");
  std::string text = R"({"weight_map":{"a":"one.safetensors")";
  for (int i = 0; i < 100'000; ++i)
    text += fmt::format(R"(,"model.layers.{:06}.weight":"one.safetensors")", i);
  EXPECT_THAT(folder.index(text + "}}").problem(), HasSubstr("isn't in one.safetensors"));
}

TEST(HuggingFace, RefusesBoxesThatDontFit) {
  auto two = [](const Shape& shape, const std::string& sharding) {
    return FolderInMemory()
        .add("1.safetensors", "w", {2}, "12", R"({"w":{"saved_offsets":[0]}})")
        .add("2.safetensors", "w", shape, "34", sharding)
        .problem();
  };
  EXPECT_EQ(two({2}, R"({"w":{"saved_offsets":[2]}})"), "");
  EXPECT_THAT(two({2}, R"({"w":{"saved_offsets":[1]}})"), HasSubstr("overlap"));
  EXPECT_THAT(two({2}, R"({"w":{"saved_offsets":[3]}})"), HasSubstr("a shard is missing"));
  EXPECT_THAT(two({2}, R"({"w":{"saved_offsets":[2,0]}})"),
              HasSubstr("'w' has 1 dims and 2 offsets"));
  EXPECT_THAT(two({2, 1}, R"({"w":{"saved_offsets":[2,0]}})"),
              HasSubstr("but another file has U8 with 1 dims"));
  EXPECT_THAT(two({2}, R"({"w":{"saved_offsets":[9223372036854775807]}})"),
              HasSubstr("'w' has offsets whose end overflows"));
  EXPECT_THAT(two({2}, R"({"w":{"saved_offsets":[-1]}})"), HasSubstr("'w' has the offset -1"));
  EXPECT_THAT(two({2}, R"({"w":{"saved_offsets":[0.5]}})"), HasSubstr("has the offset 0.5"));
  EXPECT_THAT(two({2}, R"({"w":{}})"), HasSubstr("'w' has no saved_offsets"));
  EXPECT_THAT(two({2}, "[]"), HasSubstr("DCP_SHARDING_INFO is no object"));
  EXPECT_THAT(two({2}, "{"), HasSubstr("memory/m/2.safetensors: expected JSON"));
  EXPECT_THAT(two({2}, ""), HasSubstr("'w' is in another file too"));
  EXPECT_THAT(FolderInMemory().problem(), HasSubstr("memory/m: no safetensors file"));
}

TEST(HuggingFace, ReadsOneFileWithItsMetadata) {
  FolderInMemory folder;
  folder.add("one.safetensors", "a", {2}, "12", "text");
  Catalog catalog = read_safetensors(folder.store, "m/one.safetensors");
  EXPECT_EQ(text_of(read_tensor(folder.store, {{}, ""}, catalog.tensors[0])), "12");
  EXPECT_TRUE(catalog.find_object("DCP_SHARDING_INFO")->value.is_text("text"));
}

}  // namespace
}  // namespace simmesh::checkpoint
