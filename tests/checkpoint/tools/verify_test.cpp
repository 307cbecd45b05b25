#include "checkpoint/tools/verify.h"

#include <gmock/gmock.h>

#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/store/directory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<MemoryStore> store_with_sample() {
  auto store = std::make_shared<MemoryStore>();
  testing::run_world(2, [&] {
    DeviceMesh mesh = init_device_mesh({2});
    save(testing::sample_state(mesh, testing::sample_tensors(Shard(0)), 1), {store, "a"});
  });
  return store;
}

// Every problem is listed, not only the first.
TEST(Verify, ListsEveryProblem) {
  auto store = store_with_sample();
  EXPECT_THAT(verify({store, "a"}), IsEmpty());
  store->flip("a/rank_00000.safetensors", 0, 1);
  store->flip("a/rank_00001.safetensors", *store->size("a/rank_00001.safetensors") - 1, 1);
  testing::add_file(*store, "a/more", "");
  EXPECT_THAT(verify({store, "a"}),
              ElementsAre(HasSubstr("rank_00000.safetensors, bytes [0, "),
                          HasSubstr("memory/a/more: not a file of the checkpoint"),
                          AllOf(HasSubstr("rank_00001.safetensors"), HasSubstr("is corrupt"))));
}

TEST(Verify, NamesMissingAndLongerFiles) {
  auto store = store_with_sample();
  store->remove("a/rank_00000.safetensors");
  std::string longer = testing::text_of(read_file(*store, "a/rank_00001.safetensors", 1 << 20));
  store->remove("a/rank_00001.safetensors");
  testing::add_file(*store, "a/rank_00001.safetensors", longer + "x");
  std::vector<std::string> problems = verify({store, "a"});
  EXPECT_THAT(problems,
              ::testing::Contains(HasSubstr("rank_00000.safetensors: missing, expected")));
  EXPECT_THAT(problems, ::testing::Contains(HasSubstr(
                            fmt::format("rank_00001.safetensors: {} bytes, expected {} bytes",
                                        longer.size() + 1, longer.size()))));
}

TEST(Verify, ChecksOtherFormatsByWhatTheyTell) {
  auto store = std::make_shared<MemoryStore>();
  std::vector<std::byte> bytes = testing::bytes_of("ab");
  write_safetensors(*store->create("hf/x.safetensors"), {{"w", StoredDType::u8, {2}, bytes}});
  EXPECT_THAT(verify({store, "hf"}), IsEmpty());
  EXPECT_THAT(verify({store, "none"}), ElementsAre(HasSubstr("expected a checkpoint")));
  auto cases = std::make_shared<DirectoryStore>(SIMMESH_SOURCE_DIR "/tests/cases/checkpoint/dcp");
  for (const std::string& folder : cases->folders(""))
    if (folder.starts_with("native_")) {
      EXPECT_THAT(verify({cases, folder}), IsEmpty()) << folder;
    }
}

}  // namespace
}  // namespace simmesh::checkpoint
