#include "checkpoint/read/open_together.h"

#include <gmock/gmock.h>

#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/store/memory_store.h"
#include "sharding/placement/placement.h"
#include "testing/gtest.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

OpenCheckpoint opened_bytes(const std::string& name, std::int64_t bytes) {
  OpenCheckpoint opened = {{"safetensors", {}, {}}, "m"};
  opened.catalog.tensors.push_back({name, StoredDType::u8, {bytes}, {}});
  opened.catalog.tensors[0].chunks = {{.box = whole(Shape{bytes}), .file = "f", .bytes = bytes}};
  return opened;
}

// Two checkpoints with one hash would share plans that fit only one of them.
TEST(SharedCheckpoint, HasAHashOfItsCatalogAndFolder) {
  std::uint64_t hash = shared_checkpoint(opened_bytes("w", 2)).hash;
  EXPECT_EQ(shared_checkpoint(opened_bytes("w", 2)).hash, hash);
  EXPECT_NE(shared_checkpoint(opened_bytes("v", 2)).hash, hash);
  EXPECT_NE(shared_checkpoint(opened_bytes("w", 3)).hash, hash);
  OpenCheckpoint elsewhere = opened_bytes("w", 2);
  elsewhere.folder = "n";
  EXPECT_NE(shared_checkpoint(elsewhere).hash, hash);
}

TEST(OpenTogether, GivesEveryRankOneValue) {
  auto store = std::make_shared<MemoryStore>();
  std::vector<std::byte> bytes = testing::bytes_of("ab");
  write_safetensors(*store->create("m/x.safetensors"), {{"w", StoredDType::u8, {2}, bytes}});
  simmesh::testing::run_mesh_test({.mesh = {3}, .schedules = 4}, [&](const DeviceMesh&) {
    auto shared = open_together({store, "m"}, ProcessGroup::world());
    EXPECT_EQ(shared->opened.folder, "m");
    EXPECT_EQ(shared->opened.catalog.format, "safetensors");
    EXPECT_EQ(shared->hash, shared_checkpoint(open({store, "m"})).hash);
    auto again = open_together({store, "m"}, ProcessGroup::world());
    EXPECT_EQ(again, shared) << "it is made once for all ranks";
  });
}

// Other ranks must not wait for a catalog that the first one couldn't read.
TEST(OpenTogether, RaisesOnEveryRank) {
  simmesh::testing::run_mesh_test({.mesh = {2}}, [&](const DeviceMesh&) {
    EXPECT_THAT(simmesh::testing::error_text([] {
                  open_together({std::make_shared<MemoryStore>(), "none"}, ProcessGroup::world());
                }),
                HasSubstr("expected a checkpoint"));
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
