#include <gmock/gmock.h>

#include "checkpoint/format/formats.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void add_safetensors(MemoryStore& store, const std::string& path, const std::string& name) {
  write_safetensors(*store.create(path), {{name, StoredDType::u8, {0}, {}}});
}

// DCP's consolidated files may be wrong, so its shards count.
TEST(SafetensorsFormat, PrefersShardsToConsolidatedFiles) {
  auto store = std::make_shared<MemoryStore>();
  add_safetensors(*store, "m/a.safetensors", "whole");
  EXPECT_EQ(safetensors_format.opens({store, "m"})->catalog.tensors[0].name, "whole");
  add_safetensors(*store, "m/sharded/b.safetensors", "shard");
  OpenCheckpoint opened = *safetensors_format.opens({store, "m"});
  EXPECT_EQ(opened.catalog.tensors[0].name, "shard");
  EXPECT_EQ(opened.folder, "m/sharded");
}

TEST(SafetensorsFormat, OpensAFileOfAnyName) {
  auto store = std::make_shared<MemoryStore>();
  add_safetensors(*store, "m/weights", "w");
  EXPECT_EQ(safetensors_format.opens({store, "m/weights"})->folder, "");
  EXPECT_FALSE(safetensors_format.opens({store, "m"})) << "in a folder the name counts";
  testing::add_file(*store, "text", "no header");
  EXPECT_THAT(simmesh::testing::error_text([&] {
                safetensors_format.opens({store, "text"});
              }),
              HasSubstr("memory/text: expected a folder or a safetensors file, and as such"));
}

// A file ends before the tensor that would make it too long, and the index names every file.
TEST(SafetensorsFormat, CutsFilesAtTheirMostBytes) {
  auto store = std::make_shared<MemoryStore>();
  Catalog catalog;
  for (const char* name : {"a", "b", "c"})
    catalog.tensors.push_back({name, StoredDType::u8, {2}, {}});
  safetensors_format.writes(
      {catalog,
       [](const StoredTensor& tensor) { return testing::bytes_of(tensor.name + "!"); },
       {}},
      {store, "m"}, {.file_bytes = 4});
  EXPECT_THAT(store->files("m"),
              ElementsAre("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                          "model.safetensors.index.json"));
  EXPECT_EQ(read_text(*store, "m/model.safetensors.index.json", 1 << 10),
            R"({"metadata":{"total_size":6},"weight_map":{"a":"model-00001-of-00002.safetensors",)"
            R"("b":"model-00001-of-00002.safetensors","c":"model-00002-of-00002.safetensors"}})"
            "\n");
  EXPECT_EQ(safetensors_format.opens({store, "m"})->catalog.tensors.size(), 3u);
}

}  // namespace
}  // namespace simmesh::checkpoint
