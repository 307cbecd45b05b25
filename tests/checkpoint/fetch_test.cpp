#include "checkpoint/fetch.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "testing/gtest.h"
#include "tests/checkpoint/error_text.h"
#include "tests/checkpoint/worlds.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

// A 3 x 4 tensor of letters in four chunks, one after the other in a file.
struct LettersInChunks {
  MemoryStore store;
  OpenCheckpoint checkpoint;

  explicit LettersInChunks(StoredDType dtype = StoredDType::u8) {
    testing::add_file(store, "m/f", "abefcdghijkl");
    StoredTensor tensor = {"w", dtype, {3, 4}, {}};
    tensor.chunks = {{{{0, 0}, {2, 2}}, "f", 0, 4},
                     {{{0, 2}, {2, 2}}, "f", 4, 4},
                     {{{2, 0}, {1, 2}}, "f", 8, 2},
                     {{{2, 2}, {1, 2}}, "f", 10, 2}};
    checkpoint = {{"test", {tensor}, {}}, "m"};
  }
  Fetched fetched(const std::vector<WantedBox>& wanted) {
    return fetch(store, checkpoint, wanted, ProcessGroup::world());
  }
};

std::string letters_of(const Box& box) {
  std::string text;
  for (std::int64_t i = box.offsets[0]; i < box.end(0); ++i)
    for (std::int64_t j = box.offsets[1]; j < box.end(1); ++j) text += char('a' + 4 * i + j);
  return text;
}

// Every box of the tensor, wanted by one rank, while the other wants rows of it.
TEST(Fetch, GivesEveryBoxItsElements) {
  LettersInChunks letters;
  testing::run_world(2, [&] {
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 4; ++j)
        for (std::int64_t rows = 1; i + rows <= 3; ++rows)
          for (std::int64_t columns = 1; j + columns <= 4; ++columns) {
            std::vector<WantedBox> wanted = {{0, {{i, j}, {rows, columns}}}};
            if (this_rank().id() == 1) wanted = {{0, {{1, 0}, {2, 4}}}, {0, {{0, 1}, {1, 2}}}};
            Fetched fetched = letters.fetched(wanted);
            for (std::size_t k = 0; k < wanted.size(); ++k)
              EXPECT_EQ(testing::text_of(fetched.bytes[k]), letters_of(wanted[k].box));
            EXPECT_EQ(fetched.bytes_read, 12) << "each chunk is read once";
          }
  });
}

TEST(Fetch, ReadsAChunkOnceForAllReplicas) {
  LettersInChunks letters;
  simmesh::testing::run_mesh_test({.mesh = {3}}, [&](const DeviceMesh&) {
    Fetched all = letters.fetched({{0, whole(Shape{3, 4})}});
    EXPECT_EQ(testing::text_of(all.bytes[0]), "abcdefghijkl");
    EXPECT_EQ(all.bytes_read, 12);
    EXPECT_EQ(all.bytes_needed, 12);
    Fetched part = letters.fetched({{0, {{0, 0}, {1, 1}}}});
    EXPECT_EQ(part.bytes_read, 4);
    EXPECT_EQ(part.bytes_needed, 1);
    Fetched none = letters.fetched({});
    EXPECT_EQ(none.bytes_read, 0);
  });
}

// A rank that can't read says so to all; none waits for its bytes.
TEST(Fetch, RaisesOnEveryRank) {
  LettersInChunks broken, narrow(StoredDType::f4);
  broken.checkpoint.catalog.tensors[0].chunks[3].begin = 11;
  simmesh::testing::run_mesh_test({.mesh = {2}}, [&](const DeviceMesh&) {
    std::int64_t row = this_rank().id() == 0 ? 0 : 2;
    EXPECT_THAT(testing::error_text([&] {
                  broken.fetched({{0, {{row, 0}, {1, 4}}}});
                }),
                HasSubstr("memory/m/f: 'w' [2, 2]+[1, 2] ends behind the file's 12 bytes"));
    EXPECT_THAT(testing::error_text([&] {
                  narrow.fetched({{0, whole(Shape{3, 4})}});
                }),
                HasSubstr("'w': elements of F4 can't be loaded"));
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
