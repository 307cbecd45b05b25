#include "checkpoint/read/fetch.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "core/check/bits_hash.h"
#include "sharding/placement/placement.h"
#include "testing/gtest.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

// LettersInChunks is a 3 x 4 tensor of letters in four chunks of one file.
struct LettersInChunks {
  MemoryStore store;
  SharedCheckpoint checkpoint;

  explicit LettersInChunks(StoredDType dtype = StoredDType::u8) {
    testing::add_file(store, "m/f", "abefcdghijkl");
    StoredTensor tensor = {"w", dtype, {3, 4}, {}};
    tensor.chunks = {{{{0, 0}, {2, 2}}, "f", 0, 4},
                     {{{0, 2}, {2, 2}}, "f", 4, 4},
                     {{{2, 0}, {1, 2}}, "f", 8, 2},
                     {{{2, 2}, {1, 2}}, "f", 10, 2}};
    checkpoint = shared_checkpoint({{"test", {tensor}, {}}, "m"});
  }
  Fetched fetched(const std::vector<WantedBox>& wanted) {
    return fetch(store, checkpoint, wanted, ProcessGroup::world());
  }
};

// Returns a box of the tensor with a new tensor for its elements, which may be ordered by columns.
WantedBox wanted_letters(const Box& box, bool by_columns = false) {
  Tensor to = empty({box.sizes[0], box.sizes[1]}, DType::uint8);
  if (by_columns) to = empty({box.sizes[1], box.sizes[0]}, DType::uint8).transpose(0, 1);
  return {0, box, to};
}

std::string text_of(const WantedBox& want) {
  Tensor rows = want.to.contiguous();
  return {reinterpret_cast<const char*>(rows.data()), rows.bytes()};
}

std::string letters_of(const Box& box) {
  std::string text;
  for (std::int64_t i = box.offsets[0]; i < box.end(0); ++i)
    for (std::int64_t j = box.offsets[1]; j < box.end(1); ++j) text += char('a' + 4 * i + j);
  return text;
}

// One rank wants every box of the tensor at two strides, while the other wants rows of it.
TEST(Fetch, GivesEveryBoxItsElements) {
  LettersInChunks letters;
  testing::run_world(2, [&] {
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 4; ++j)
        for (std::int64_t rows = 1; i + rows <= 3; ++rows)
          for (std::int64_t columns = 1; j + columns <= 4; ++columns) {
            Box box = {{i, j}, {rows, columns}};
            std::vector<WantedBox> wanted = {wanted_letters(box), wanted_letters(box, true)};
            if (this_rank().id() == 1)
              wanted = {wanted_letters({{1, 0}, {2, 4}}), wanted_letters({{0, 1}, {1, 2}})};
            Fetched fetched = letters.fetched(wanted);
            for (const WantedBox& want : wanted) EXPECT_EQ(text_of(want), letters_of(want.box));
            EXPECT_EQ(fetched.bytes_read, 12) << "each chunk is read once";
          }
  });
}

TEST(Fetch, ReadsAChunkOnceForAllReplicas) {
  LettersInChunks letters;
  simmesh::testing::run_mesh_test({.mesh = {3}}, [&](const DeviceMesh&) {
    WantedBox whole_tensor = wanted_letters(whole(Shape{3, 4}));
    Fetched all = letters.fetched({whole_tensor});
    EXPECT_EQ(text_of(whole_tensor), "abcdefghijkl");
    EXPECT_EQ(all.bytes_read, 12);
    EXPECT_EQ(all.bytes_needed, 12);
    Fetched part = letters.fetched({wanted_letters({{0, 0}, {1, 1}})});
    EXPECT_EQ(part.bytes_read, 4);
    EXPECT_EQ(part.bytes_needed, 1);
    Fetched none = letters.fetched({});
    EXPECT_EQ(none.bytes_read, 0);
  });
}

// The plan of one checkpoint must not be used for another one, of which ranks want the same boxes.
// A rank may ask for the second checkpoint while others still have the plan of the first.
TEST(Fetch, PlansEachCheckpointByItself) {
  LettersInChunks letters, by_rows;
  OpenCheckpoint rows = by_rows.checkpoint.opened;
  rows.catalog.tensors[0].chunks = {{{{0, 0}, {3, 4}}, "f", 0, 12}};
  by_rows.store.remove("m/f");
  testing::add_file(by_rows.store, "m/f", "abcdefghijkl");
  by_rows.checkpoint = shared_checkpoint(rows);
  simmesh::testing::run_mesh_test({.mesh = {3}, .schedules = 8}, [&](const DeviceMesh&) {
    for (LettersInChunks* stored : {&letters, &by_rows, &letters}) {
      WantedBox want = wanted_letters({{1, 1}, {2, 3}});
      stored->fetched({want});
      EXPECT_EQ(text_of(want), "fghjkl");
    }
  });
}

// ManyBlocks is a tensor of 700 rows of bytes in three chunks of rows with hashes. A row has 1000
// bytes by default.
struct ManyBlocks {
  static constexpr std::int64_t rows = 700;
  const std::int64_t columns;
  MemoryStore store;
  SharedCheckpoint checkpoint;

  explicit ManyBlocks(std::int64_t row_bytes = 1000) : columns(row_bytes) {
    std::vector<std::byte> bytes(std::size_t(rows * columns));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = value(std::int64_t(i));
    store.create("m/f")->append(bytes);
    StoredTensor tensor = {"w", StoredDType::u8, {rows, columns}, {}};
    for (auto [begin, end] : {std::pair{0, 300}, std::pair{300, 310}, std::pair{310, 700}}) {
      std::int64_t first = begin * columns, count = (end - begin) * columns;
      Bytes chunk = {bytes.data() + first, std::size_t(count)};
      tensor.chunks.push_back({{{begin, 0}, {end - begin, columns}}, "f", first, count});
      tensor.chunks.back().hash = bits_hash(chunk);
    }
    checkpoint = shared_checkpoint({{"test", {tensor}, {}}, "m"});
  }
  static std::byte value(std::int64_t i) { return std::byte((i * 2654435761) >> 7); }

  // Returns the box of a rank in a layout: all, some of the rows, or some of the columns.
  WantedBox wanted(const Placement& placement, std::int64_t rank, std::int64_t ranks) const {
    Box box = {{0, 0}, {rows, columns}};
    if (!placement.is_replicate()) {
      auto dim = std::size_t(placement.dim());
      std::int64_t begin = box.sizes[dim] * rank / ranks, end = box.sizes[dim] * (rank + 1) / ranks;
      box.offsets[dim] = begin;
      box.sizes[dim] = end - begin;
    }
    return {0, box, empty(box.sizes, DType::uint8)};
  }
  bool has_its_values(const WantedBox& want) const {
    const std::byte* value_at = want.to.data();
    for (std::int64_t i = want.box.offsets[0]; i < want.box.end(0); ++i)
      for (std::int64_t j = want.box.offsets[1]; j < want.box.end(1); ++j)
        if (*value_at++ != value(i * columns + j)) return false;
    return true;
  }
};

// Chunks of several blocks are read by one rank for itself, or go to others in part or as a whole.
TEST(Fetch, PassesLongChunksOnInBlocks) {
  ManyBlocks stored;
  for (std::int64_t ranks : {1, 2, 3})
    for (const Placement& placement : {Replicate(), Shard(0), Shard(1)})
      simmesh::testing::run_mesh_test({.mesh = {ranks}, .schedules = 4}, [&](const DeviceMesh&) {
        WantedBox want = stored.wanted(placement, this_rank().id(), ranks);
        Fetched fetched = fetch(stored.store, stored.checkpoint, {want}, ProcessGroup::world());
        EXPECT_TRUE(stored.has_its_values(want)) << to_string(placement);
        EXPECT_EQ(fetched.bytes_read, 700'000) << "each chunk is read once";
        EXPECT_EQ(fetched.bytes_needed, 700'000);
      });
}

// This many bytes are written past the caches. The rows of a part have any alignment.
TEST(Fetch, PassesMoreThanTheCachesHoldOn) {
  ManyBlocks stored(13'001);
  simmesh::testing::run_mesh_test({.mesh = {3}, .schedules = 2}, [&](const DeviceMesh&) {
    WantedBox want = stored.wanted(Shard(1), this_rank().id(), 3);
    fetch(stored.store, stored.checkpoint, {want}, ProcessGroup::world());
    EXPECT_TRUE(stored.has_its_values(want));
  });
}

// The reader of a corrupt byte finds it, and no rank waits for bytes that are not sent.
TEST(Fetch, RaisesOnEveryRankWhatIsCorrupt) {
  ManyBlocks stored;
  stored.store.flip("m/f", 350'000, 5);
  for (const Placement& placement : {Replicate(), Shard(0), Shard(1)})
    simmesh::testing::run_mesh_test({.mesh = {3}, .schedules = 4}, [&](const DeviceMesh&) {
      WantedBox want = stored.wanted(placement, this_rank().id(), 3);
      EXPECT_THAT(simmesh::testing::error_text([&] {
                    fetch(stored.store, stored.checkpoint, {want}, ProcessGroup::world());
                  }),
                  HasSubstr("memory/m/f, bytes [310000, 700000): 'w' [310, 0]+[390, 1000] is "
                            "corrupt"));
    });
}

// A rank that can't read tells all others, and none waits for its bytes.
TEST(Fetch, RaisesOnEveryRank) {
  LettersInChunks broken, narrow(StoredDType::f4);
  OpenCheckpoint opened = broken.checkpoint.opened;
  opened.catalog.tensors[0].chunks[3].begin = 11;
  broken.checkpoint = shared_checkpoint(opened);
  simmesh::testing::run_mesh_test({.mesh = {2}}, [&](const DeviceMesh&) {
    std::int64_t row = this_rank().id() == 0 ? 0 : 2;
    EXPECT_THAT(simmesh::testing::error_text([&] {
                  broken.fetched({wanted_letters({{row, 0}, {1, 4}})});
                }),
                HasSubstr("memory/m/f: 'w' [2, 2]+[1, 2] ends after the file's 12 bytes"));
    EXPECT_THAT(simmesh::testing::error_text([&] {
                  narrow.fetched({wanted_letters(whole(Shape{3, 4}))});
                }),
                HasSubstr("'w': elements of F4 can't be loaded"));
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
