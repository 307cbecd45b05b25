#include "checkpoint/save_load/chunk_writer.h"

#include <gtest/gtest.h>

#include "checkpoint/store/faulty_store.h"
#include "checkpoint/store/memory_store.h"
#include "core/check/bits_hash.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/checkpoint/sample_state.h"

namespace simmesh::checkpoint {
namespace {

// For small and large tensors at any strides, the file has the elements row-major, and each hash is
// that of the elements.
TEST(ChunkWriter, AppendsElementsAndHashesThem) {
  MemoryStore store;
  auto file = store.create("f");
  ChunkWriter writer(*file);
  std::vector<std::byte> expected = testing::bytes_of("header");
  writer.append(expected);
  for (const Shape& shape : {Shape{3, 5}, Shape{300, 301}, Shape{2, 0}, Shape{}, Shape{70, 1001},
                             Shape{1, 1}, Shape{16385, 4}})
    for (bool is_turned : {false, true}) {
      Tensor tensor = testing::sample_whole(shape, DType::float32, 1);
      if (is_turned && shape.size() == 2) tensor = tensor.transpose(0, 1);
      Tensor rows = tensor.contiguous();
      Bytes bytes = {rows.data(), rows.bytes()};
      EXPECT_EQ(writer.append(tensor), bits_hash(bytes)) << to_string(shape);
      expected.insert(expected.end(), bytes.begin(), bytes.end());
    }
  writer.flush();
  writer.flush();
  EXPECT_TRUE(read_file(store, "f", 1 << 30) == expected);
}

// A thousand small tensors need a few writes.
TEST(ChunkWriter, GathersWhatIsSmall) {
  auto store = std::make_shared<FaultyStore>(std::make_shared<MemoryStore>(), FaultyStore::Plan());
  auto file = store->create("f");
  ChunkWriter writer(*file);
  for (int i = 0; i < 1000; ++i) writer.append(zeros({100}, DType::uint8));
  writer.flush();
  EXPECT_EQ(store->size("f"), 100'000);
  EXPECT_EQ(store->operations(), 3) << "to create the file, and two writes";
}

}  // namespace
}  // namespace simmesh::checkpoint
