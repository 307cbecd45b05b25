#include <gtest/gtest.h>

#include "tests/checkpoint/dcp/sample_metadata.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

// The reader, which reads PyTorch's files, reads what the writer writes for PyTorch.
TEST(DcpMetadataPickle, WritesWhatIsRead) {
  DcpMetadata written = testing::sample_metadata();
  DcpMetadata read = read_dcp_metadata(dcp_metadata_pickle(written));
  ASSERT_EQ(read.tensors.size(), written.tensors.size());
  for (std::size_t i = 0; i < read.tensors.size(); ++i) {
    const StoredTensor &a = written.tensors[i], &b = read.tensors[i];
    EXPECT_EQ(b.name, a.name);
    EXPECT_EQ(b.dtype, a.dtype);
    EXPECT_EQ(b.shape, a.shape);
    ASSERT_EQ(b.chunks.size(), a.chunks.size());
    for (std::size_t c = 0; c < b.chunks.size(); ++c) {
      EXPECT_EQ(b.chunks[c].box, a.chunks[c].box);
      EXPECT_EQ(b.chunks[c].file, a.chunks[c].file);
      EXPECT_EQ(b.chunks[c].begin, a.chunks[c].begin);
      EXPECT_EQ(b.chunks[c].bytes, a.chunks[c].bytes);
    }
  }
  ASSERT_EQ(read.objects.size(), 1u);
  EXPECT_EQ(read.objects[0].name, "optim.0");
  EXPECT_EQ(read.objects[0].file, "__1_0.distcp");
  EXPECT_EQ(read.objects[0].begin, 5);
  EXPECT_EQ(read.objects[0].bytes, 7);
  EXPECT_EQ(JsonValue{read.objects[0].path}.text(), R"(["optim",0])");
  ASSERT_EQ(read.paths.size(), 2u);
  EXPECT_EQ(read.paths[0].first, "model.w");
  EXPECT_EQ(JsonValue{read.paths[0].second}.text(), R"(["model","w"])");
  EXPECT_EQ(read.version, "1.0.0");
}

TEST(DcpMetadataPickle, RefusesDtypesThatPyTorchDoesNotHave) {
  DcpMetadata metadata = testing::sample_metadata();
  metadata.tensors[0].dtype = StoredDType::f4;
  EXPECT_EQ(simmesh::testing::error_text([&] { dcp_metadata_pickle(metadata); }),
            "[checkpoint/dcp] 'model.w': PyTorch has no dtype for F4");
}

}  // namespace
}  // namespace simmesh::checkpoint
