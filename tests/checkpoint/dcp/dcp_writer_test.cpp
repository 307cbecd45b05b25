#include "checkpoint/dcp/dcp_writer.h"

#include <gtest/gtest.h>

#include "checkpoint/dcp/dcp_checkpoint.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

// A reader gets back boxes, values and their paths.
TEST(DcpWriter, IsReadBack) {
  MemoryStore store;
  DcpWriter writer(store, "dcp");
  writer.add(StoredObject{
      "config.depth", JsonValue(std::int64_t(2)), {JsonValue("config"), JsonValue("depth")}});
  StoredTensor tensor = {"w", StoredDType::u8, {2, 3}, {}};
  std::vector<std::byte> rows[] = {testing::bytes_of("abc"), testing::bytes_of("def")};
  writer.add(tensor, {{{0, 0}, {1, 3}}, {{1, 0}, {1, 3}}}, [&](std::size_t i) { return rows[i]; });
  writer.finish();
  Catalog catalog = read_dcp(store, "dcp");
  ASSERT_EQ(catalog.tensors.size(), 1u);
  ASSERT_EQ(catalog.tensors[0].chunks.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(read_dcp_chunk(store, "dcp", catalog.tensors[0], catalog.tensors[0].chunks[i]),
              rows[i]);
  EXPECT_EQ(catalog.find_object("config.depth")->value.text(), "2");
  EXPECT_EQ(catalog.find_object("config.depth")->path.size(), 2u);
}

TEST(DcpWriter, RefusesDtypesWithoutAStorageClass) {
  MemoryStore store;
  DcpWriter writer(store, "dcp");
  StoredTensor tensor = {"w", StoredDType::f6_e2m3, {4}, {}};
  EXPECT_NE(simmesh::testing::error_text([&] {
              writer.add(tensor, {whole(tensor.shape)},
                         [](std::size_t) { return testing::bytes_of("a"); });
            }).find("F6_E2M3"),
            std::string::npos);
}

}  // namespace
}  // namespace simmesh::checkpoint
