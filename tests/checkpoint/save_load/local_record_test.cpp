#include "checkpoint/save_load/local_record.h"

#include <gtest/gtest.h>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/store/memory_store.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {
namespace {

LocalRecord sample_record() {
  LocalRecord record = {3, 1, {"simmesh", {}, {}}};
  record.catalog.tensors.push_back({"w", StoredDType::f32, {4, 2}, {}});
  record.catalog.tensors[0].chunks.push_back(
      {.box = {{2, 0}, {2, 2}}, .file = "a", .begin = 8, .bytes = 16, .hash = 5});
  record.catalog.objects.push_back({"step", JsonValue(std::int64_t{4}), {}});
  return record;
}

TEST(LocalRecord, ReadsWhatItWrites) {
  LocalRecord record = parse_local(local_text(sample_record()));
  EXPECT_EQ(record.world, 3);
  EXPECT_EQ(record.rank, 1);
  EXPECT_EQ(catalog_text(record.catalog), catalog_text(sample_record().catalog));
}

TEST(LocalRecord, RefusesEveryOtherText) {
  std::string text = local_text(sample_record());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] ^= 1;
    EXPECT_THROW(parse_local(other), Error) << i;
    EXPECT_THROW(parse_local(text.substr(0, i)), Error) << i;
  }
}

// A record counts only in a committed checkpoint.
TEST(LocalRecord, BelongsToACommittedCheckpoint) {
  MemoryStore store;
  auto add = [&](const std::string& path, const std::string& text) {
    store.create(path)->append(gsl::as_bytes(gsl::span<const char>(text)));
  };
  add("a/" + local_file(1), local_text(sample_record()));
  EXPECT_FALSE(read_local(store, "a", 1));
  add("a/commit.json", commit_text({}));
  EXPECT_TRUE(read_local(store, "a", 1));
  EXPECT_FALSE(read_local(store, "a", 0));
  EXPECT_FALSE(read_local(store, "a/commit.json", 1));
  add("a/" + local_file(0), "nothing");
  EXPECT_FALSE(read_local(store, "a", 0));
}

}  // namespace
}  // namespace simmesh::checkpoint
