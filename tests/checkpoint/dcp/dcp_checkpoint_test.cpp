#include "checkpoint/dcp/dcp_checkpoint.h"

#include <gmock/gmock.h>

#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/torch_file/torch_archive.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using testing::bytes_of;
using ::testing::HasSubstr;
using testing::text_of;

// DcpInMemory is a checkpoint in memory with a tensor of two bytes and a value.
struct DcpInMemory {
  MemoryStore store;
  DcpMetadata metadata;
  std::string tensor, value;

  DcpInMemory()
      : tensor(text_of(torch_tensor_archive(StoredDType::u8, Shape{2}, bytes_of("ab")))),
        value(text_of(torch_object_archive(JsonValue("hello")))) {
    metadata.tensors.push_back({"w",
                                StoredDType::u8,
                                {2},
                                {{.box = {{0}, {2}},
                                  .file = "__0_0.distcp",
                                  .begin = 0,
                                  .bytes = std::int64_t(tensor.size())}}});
    metadata.objects.push_back({"greeting",
                                "__0_0.distcp",
                                std::int64_t(tensor.size()),
                                std::int64_t(value.size()),
                                {JsonValue("greeting")}});
  }
  Catalog read() {
    add_file(store, "step/.metadata", text_of(dcp_metadata_pickle(metadata)));
    add_file(store, "step/__0_0.distcp", tensor + value);
    return read_dcp(store, "step");
  }
};

TEST(DcpCheckpoint, ReadsValuesAndChunks) {
  DcpInMemory dcp;
  Catalog catalog = dcp.read();
  ASSERT_EQ(catalog.tensors.size(), 1u);
  EXPECT_TRUE(catalog.find_object("greeting")->value.is_text("hello"));
  const StoredTensor& tensor = catalog.tensors[0];
  EXPECT_EQ(text_of(read_dcp_chunk(dcp.store, "step", tensor, tensor.chunks[0])), "ab");
}

TEST(DcpCheckpoint, NamesTheFileOfWhatIsBroken) {
  DcpInMemory behind, broken, missing;
  behind.metadata.objects[0].bytes += 1;
  EXPECT_THAT(error_text([&] { behind.read(); }),
              ::testing::AllOf(HasSubstr("memory/step/__0_0.distcp: 'greeting'"),
                               HasSubstr("in a file of")));
  broken.value[broken.value.find("hello")] = 'H';
  EXPECT_THAT(error_text([&] { broken.read(); }),
              HasSubstr("__0_0.distcp: 'greeting': the member"));
  missing.metadata.objects[0].file = "__1_0.distcp";
  EXPECT_THAT(error_text([&] { missing.read(); }), HasSubstr("__1_0.distcp: 'greeting'"));
  MemoryStore store;
  add_file(store, "step/.metadata", "N.");
  EXPECT_THAT(error_text([&] { read_dcp(store, "step"); }),
              HasSubstr("[checkpoint/dcp] memory/step/.metadata: "));
  EXPECT_THAT(error_text([&] { read_dcp(store, "none"); }), HasSubstr("no file none/.metadata"));
}

// A chunk whose archive disagrees with the metadata about dtype or shape is refused.
TEST(DcpCheckpoint, ComparesAChunkWithTheMetadata) {
  DcpInMemory dcp;
  StoredTensor tensor = dcp.read().tensors[0];
  StoredTensor other = tensor;
  other.dtype = StoredDType::i8;
  EXPECT_THAT(error_text([&] { read_dcp_chunk(dcp.store, "step", other, other.chunks[0]); }),
              HasSubstr("expected I8[2], got uint8[2]"));
  StoredChunk chunk = tensor.chunks[0];
  chunk.box.sizes = {2, 1};
  EXPECT_THAT(error_text([&] { read_dcp_chunk(dcp.store, "step", tensor, chunk); }),
              HasSubstr("expected uint8[2, 1], got uint8[2]"));
  chunk = tensor.chunks[0];
  chunk.begin = std::int64_t{1} << 62;
  EXPECT_THAT(error_text([&] { read_dcp_chunk(dcp.store, "step", tensor, chunk); }),
              HasSubstr("in a file of"));
}

}  // namespace
}  // namespace simmesh::checkpoint
