#include "checkpoint/read/chunk_reader.h"

#include <gmock/gmock.h>
#include <numeric>

#include "checkpoint/format/formats.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/torch_file/torch_archive.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;

// LongChunk is a chunk after a header, whose bytes are no multiple of 256 KiB.
struct LongChunk {
  static constexpr std::size_t count = (600 << 10) + 7;
  std::vector<std::byte> bytes;
  MemoryStore store;
  StoredTensor tensor = {"w", StoredDType::u8, {std::int64_t(count)}, {}};

  LongChunk() : bytes(count) {
    for (std::size_t i = 0; i < count; ++i) bytes[i] = std::byte(i * i >> 3);
    auto file = store.create("m/f");
    file->append(testing::bytes_of("header"));
    file->append(bytes);
    tensor.chunks = {{whole(tensor.shape), "f", 6, std::int64_t(count)}};
    tensor.chunks[0].hash = bits_hash(bytes);
  }
  // Returns the bytes that a reader gives in pieces of some length, and its error.
  std::pair<std::vector<std::byte>, std::string> read_by(std::size_t length) const {
    std::vector<std::byte> read(count);
    std::string problem = error_text([&] {
      ChunkReader reader(store, {{}, "m"}, tensor, tensor.chunks[0]);
      ASSERT_EQ(reader.bytes(), std::int64_t(count));
      for (std::size_t at = 0; at < count; at += length)
        reader.read({read.data() + at, std::min(length, count - at)});
    });
    return {read, problem};
  }
};

TEST(ChunkReader, ReadsInPiecesOfAnyLength) {
  LongChunk chunk;
  for (std::size_t length :
       {std::size_t{4099}, std::size_t{256} << 10, LongChunk::count - 1, LongChunk::count})
    EXPECT_EQ(chunk.read_by(length), std::pair(chunk.bytes, std::string())) << length;
  chunk.tensor.chunks[0].hash.reset();
  EXPECT_EQ(chunk.read_by(4099), std::pair(chunk.bytes, std::string())) << "none is compared";
}

// The last piece raises, wherever the wrong byte is.
TEST(ChunkReader, FindsAByteThatIsNotWhatWasSaved) {
  for (std::size_t at : {std::size_t{0}, LongChunk::count / 2, LongChunk::count - 1}) {
    LongChunk chunk;
    chunk.store.flip("m/f", 6 + std::int64_t(at), 3);
    for (std::size_t length : {std::size_t{4099}, LongChunk::count})
      EXPECT_THAT(chunk.read_by(length).second,
                  HasSubstr("memory/m/f, bytes [6, 614413): 'w' [0]+[614407] is corrupt"));
  }
}

// A tensor that isn't contiguous is filled in blocks.
TEST(ChunkReader, FillsATensorThroughItsStrides) {
  constexpr std::int64_t rows = 700, columns = 1000;
  std::vector<std::byte> bytes(std::size_t(rows * columns));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * i >> 3);
  MemoryStore store;
  store.create("f")->append(bytes);
  StoredTensor tensor = {"w", StoredDType::u8, {rows, columns}, {}};
  tensor.chunks = {{whole(tensor.shape), "f", 0, rows * columns}};
  tensor.chunks[0].hash = bits_hash(bytes);
  for (bool by_columns : {false, true}) {
    Tensor to = by_columns ? empty({columns, rows}, DType::uint8).transpose(0, 1)
                           : empty({rows, columns}, DType::uint8);
    ChunkReader(store, {}, tensor, tensor.chunks[0]).read_all(to);
    Tensor read = to.contiguous();
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), read.data())) << by_columns;
  }
}

TEST(ChunkReader, RefusesAFileThatIsTooShort) {
  LongChunk chunk;
  ++chunk.tensor.chunks[0].begin;
  EXPECT_THAT(chunk.read_by(1).second, HasSubstr("ends after the file's 614413 bytes"));
}

// A format that stores another form of the elements decodes the whole chunk.
TEST(ChunkReader, ReadsADecodedChunkInPieces) {
  MemoryStore store;
  std::vector<std::byte> archive =
      torch_tensor_archive(StoredDType::u8, Shape{6}, testing::bytes_of("abcdef"));
  store.create("f")->append(archive);
  StoredTensor tensor = {"w", StoredDType::u8, {6}, {}};
  tensor.chunks = {{whole(tensor.shape), "f", 0, std::int64_t(archive.size())}};
  OpenCheckpoint checkpoint;
  checkpoint.catalog.format = dcp_format.name;
  ChunkReader reader(store, checkpoint, tensor, tensor.chunks[0]);
  std::byte first[4], second[2];
  ASSERT_EQ(reader.bytes(), 6);
  reader.read(first);
  reader.read(second);
  EXPECT_EQ(testing::text_of(first) + testing::text_of(second), "abcdef");
}

// Elements with strides are put in row-major order; strides that lead out are refused.
TEST(ChunkReader, PutsElementsWithStridesInOrder) {
  MemoryStore store;
  testing::add_file(store, "m/f", "headerabcdef");
  StoredTensor tensor = {"w", StoredDType::u8, {3, 2}, {}};
  tensor.chunks = {{whole(tensor.shape), "f", 6, 6}};
  auto read = [&](Strides strides) {
    tensor.chunks[0].strides = std::move(strides);
    ChunkReader reader(store, {{}, "m"}, tensor, tensor.chunks[0]);
    std::vector<std::byte> bytes(std::size_t(reader.bytes()));
    reader.read(bytes);
    return testing::text_of(bytes);
  };
  EXPECT_EQ(read({1, 3}), "adbecf");
  EXPECT_EQ(read({2, 1}), "abcdef");
  for (const Strides& strides : {Strides{2, 3}, Strides{0, 0}, Strides{1, std::int64_t{1} << 62}})
    EXPECT_THAT(error_text([&] { read(strides); }), HasSubstr("strides that lead out"))
        << strides[1];
}

}  // namespace
}  // namespace simmesh::checkpoint
