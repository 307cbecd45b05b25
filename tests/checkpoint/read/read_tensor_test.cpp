#include "checkpoint/read/read_tensor.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "core/check/bits_hash.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;
using testing::text_of;

// TensorInTwoFiles is a 2 x 3 tensor, with two columns in one file and one in another.
struct TensorInTwoFiles {
  MemoryStore store;
  StoredTensor tensor = {"w", StoredDType::u8, {2, 3}, {}};

  TensorInTwoFiles() {
    testing::add_file(store, "m/a", "..1245");
    testing::add_file(store, "m/b", "36");
    tensor.chunks = {{{{0, 0}, {2, 2}}, "a", 2, 4}, {{{0, 2}, {2, 1}}, "b", 0, 2}};
  }
  std::string problem() const {
    return error_text([&] { read_tensor(store, {{}, "m"}, tensor); });
  }
};

TEST(ReadTensor, PutsChunksTogether) {
  TensorInTwoFiles stored;
  EXPECT_EQ(text_of(read_tensor(stored.store, {{}, "m"}, stored.tensor)), "123456");
  stored.tensor.chunks.push_back({{{2, 0}, {0, 3}}, "none", 0, 0});
  EXPECT_EQ(text_of(read_tensor(stored.store, {{}, "m"}, stored.tensor)), "123456")
      << "an empty chunk needs no file";
}

TEST(ReadTensor, NamesFileAndBytesOfWhatIsBroken) {
  TensorInTwoFiles corrupt, behind, far;
  corrupt.tensor.chunks[1].hash = bits_hash(testing::bytes_of("36"));
  EXPECT_EQ(corrupt.problem(), "");
  corrupt.store.flip("m/b", 1, 0);
  EXPECT_THAT(corrupt.problem(),
              HasSubstr("memory/m/b, bytes [0, 2): 'w' [0, 2]+[2, 1] is corrupt"));
  behind.tensor.chunks[0].begin = 3;
  EXPECT_THAT(behind.problem(), HasSubstr("memory/m/a: 'w' [0, 0]+[2, 2] ends after the file's 6"));
  far.tensor.chunks[0].begin = std::int64_t{1} << 62;
  EXPECT_THAT(far.problem(), HasSubstr("ends after the file's 6 bytes"));
  far.tensor.chunks[0].file = "none";
  EXPECT_THAT(far.problem(), HasSubstr("memory/m/none"));
}

// Elements of half a byte can't be joined from several chunks.
TEST(ReadTensor, TakesNarrowElementsWhole) {
  TensorInTwoFiles stored;
  StoredTensor narrow = {"w", StoredDType::f4, {4}, {{{{0}, {4}}, "b", 0, 2}}};
  EXPECT_EQ(text_of(read_tensor(stored.store, {{}, "m"}, narrow)), "36");
  narrow.chunks = {{{{0}, {2}}, "b", 0, 1}, {{{2}, {2}}, "b", 1, 1}};
  EXPECT_THAT(error_text([&] {
                read_tensor(stored.store, {{}, "m"}, narrow);
              }),
              HasSubstr("'w': elements of F4 can't be put together from 2 chunks"));
}

}  // namespace
}  // namespace simmesh::checkpoint
