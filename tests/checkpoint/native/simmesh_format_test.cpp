#include <gmock/gmock.h>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/format/formats.h"
#include "checkpoint/native/commit.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Writes a tensor of two bytes and a value.
void write_sample(const Location& to) {
  Catalog catalog;
  catalog.tensors.push_back({"model.w", StoredDType::u8, {2}, {}});
  catalog.objects.push_back({"step", JsonValue(std::int64_t(3)), {}});
  simmesh_format.writes({catalog, [](const StoredTensor&) { return testing::bytes_of("ab"); }, {}},
                        to, {});
}

TEST(SimmeshFormat, OpensWhatItWrote) {
  auto store = std::make_shared<MemoryStore>();
  write_sample({store, "a"});
  auto opened = simmesh_format.opens({store, "a"});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->folder, "a");
  EXPECT_EQ(opened->catalog.find("model.w")->chunks.size(), 1u);
  EXPECT_EQ(opened->catalog.find_object("step")->value.text(), "3");
  EXPECT_THAT(simmesh_format.problems({store, "a"}, *opened), IsEmpty());
  EXPECT_FALSE(latest(store)->name.empty());
  EXPECT_FALSE(store->size(latest_file)) << "a converted checkpoint isn't the latest of a run";
}

// A folder without a commit record must not be taken for a checkpoint of another format.
TEST(SimmeshFormat, RefusesWhatWasNeverFinished) {
  auto store = std::make_shared<MemoryStore>();
  write_sample({store, "a"});
  store->remove(std::string("a/") + commit_file);
  EXPECT_THAT(simmesh::testing::error_text([&] {
                simmesh_format.opens({store, "a"});
              }),
              HasSubstr("the checkpoint was never finished"));
}

// A part has its own names, and the files of the whole.
TEST(SimmeshFormat, OpensAPart) {
  auto store = std::make_shared<MemoryStore>();
  write_sample({store, "a"});
  auto part = simmesh_format.opens({store, "a/model_state"});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->folder, "a");
  EXPECT_EQ(part->catalog.tensors.size(), 1u);
  EXPECT_THAT(part->catalog.objects, IsEmpty());
  EXPECT_FALSE(simmesh_format.opens({store, "a/model"}));
}

TEST(SimmeshFormat, ListsWhatIsWrongWithItsFiles) {
  auto store = std::make_shared<MemoryStore>();
  write_sample({store, "a"});
  OpenCheckpoint opened = *simmesh_format.opens({store, "a"});
  store->flip("a/rank_00000.safetensors", 0, 1);
  testing::add_file(*store, "a/more", "");
  EXPECT_THAT(simmesh_format.problems({store, "a"}, opened),
              ElementsAre(HasSubstr("the header is corrupt"),
                          HasSubstr("memory/a/more: not a file of the checkpoint")));
}

}  // namespace
}  // namespace simmesh::checkpoint
