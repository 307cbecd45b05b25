#include <gtest/gtest.h>

#include "checkpoint/format/formats.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"

namespace simmesh::checkpoint {
namespace {

// The chunks of the source are kept, so that PyTorch's ranks read only the bytes that they need.
TEST(DcpFormat, OpensAndDecodesWhatItWrote) {
  auto store = std::make_shared<MemoryStore>();
  Location to = {store, "a"};
  Catalog catalog;
  catalog.tensors.push_back({"w", StoredDType::u8, {2, 2}, {}});
  catalog.tensors[0].chunks = {{.box = {{0, 0}, {1, 2}}}, {.box = {{1, 0}, {1, 2}}}};
  catalog.objects.push_back({"step", JsonValue(std::int64_t(3)), {}});
  dcp_format.writes({catalog,
                     {},
                     [](const StoredTensor&, const StoredChunk& chunk) {
                       return testing::bytes_of(chunk.box.offsets[0] == 0 ? "ab" : "cd");
                     }},
                    to, {});
  auto opened = dcp_format.opens(to);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->folder, "a");
  EXPECT_EQ(opened->catalog.find_object("step")->value.text(), "3");
  const StoredTensor& tensor = opened->catalog.tensors.at(0);
  ASSERT_EQ(tensor.chunks.size(), 2u);
  std::string text;
  for (const StoredChunk& chunk : tensor.chunks)
    text += testing::text_of(dcp_format.decodes(*store, opened->folder, tensor, chunk));
  EXPECT_EQ(text, "abcd");
}

}  // namespace
}  // namespace simmesh::checkpoint
