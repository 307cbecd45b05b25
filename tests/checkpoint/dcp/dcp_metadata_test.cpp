#include "checkpoint/dcp/dcp_metadata.h"

#include <functional>
#include <gmock/gmock.h>

#include "checkpoint/store/directory_store.h"
#include "tests/checkpoint/dcp/sample_metadata.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;

// Returns the error for the sample with a change before it is written.
std::string metadata_problem(const std::function<void(DcpMetadata&)>& change) {
  DcpMetadata metadata = testing::sample_metadata();
  change(metadata);
  return error_text([&] { read_dcp_metadata(dcp_metadata_pickle(metadata)); });
}

// Returns the error for the sample with some bytes of its pickle replaced.
std::string replaced_problem(const std::string& from, const std::string& to) {
  std::string text = testing::text_of(dcp_metadata_pickle(testing::sample_metadata()));
  std::size_t at = text.find(from);
  if (at == text.npos) return "the pickle has no " + from;
  text.replace(at, from.size(), to);
  return error_text([&] { read_dcp_metadata(testing::bytes_of(text)); });
}

constexpr std::string_view metadata_module = "torch.distributed.checkpoint.metadata";

// Returns the pickle's name of a class or function: two texts with their lengths.
std::string pickled_name(std::string_view module, std::string_view name) {
  std::string text;
  for (std::string_view part : {module, name}) {
    text += 'X';
    for (int i = 0; i < 4; ++i) text += char(part.size() >> (8 * i));
    text += part;
  }
  return text;
}

// Returns the error for the sample with one class in place of another.
std::string renamed_problem(std::string_view module, std::string_view from, std::string_view to) {
  return replaced_problem(pickled_name(module, from), pickled_name(module, to));
}

TEST(DcpMetadata, RefusesChunksThatDontMakeATensor) {
  EXPECT_EQ(metadata_problem([](DcpMetadata&) {}), "");
  EXPECT_THAT(metadata_problem([](auto& m) { m.tensors[0].chunks.pop_back(); }),
              HasSubstr("a shard is missing"));
  EXPECT_THAT(metadata_problem([](auto& m) { m.tensors[0].chunks[1].box.offsets[0] = 2; }),
              HasSubstr("overlap"));
  EXPECT_THAT(metadata_problem([](auto& m) { m.tensors[0].shape[0] = 3; }),
              HasSubstr("is outside"));
  EXPECT_THAT(metadata_problem([](auto& m) { m.tensors[0].shape[0] = -4; }),
              HasSubstr("a size is negative"));
  EXPECT_THAT(metadata_problem([](auto& m) { m.tensors[0].shape = Shape(33, 1); }),
              HasSubstr("a size has 33 dims"));
  EXPECT_THAT(metadata_problem([](auto& m) { m.tensors[0].chunks[1].box.sizes[1] = -2; }),
              HasSubstr("sizes is negative"));
}

TEST(DcpMetadata, RefusesPlacesThatCantBe) {
  EXPECT_THAT(metadata_problem([](auto& m) { m.tensors[0].chunks[0].begin = -1; }),
              HasSubstr("'model.w' is at a negative place"));
  EXPECT_THAT(metadata_problem([](auto& m) { m.objects[0].bytes = -1; }),
              HasSubstr("'optim.0' is at a negative place"));
  EXPECT_THAT(metadata_problem([](auto& m) { m.tensors[1].name = "model.w"; }),
              HasSubstr("the name 'model.w' comes twice"));
  EXPECT_THAT(metadata_problem([](auto& m) { m.objects.push_back(m.objects[0]); }),
              HasSubstr("'optim.0' is stored twice at the offset []"));
}

TEST(DcpMetadata, RefusesOtherPickles) {
  EXPECT_THAT(replaced_problem("fqn", "fqm"), HasSubstr("a dict without the key 'fqn'"));
  EXPECT_THAT(replaced_problem("relative_path", "relative_pAth"),
              HasSubstr("a dict without the key 'relative_path'"));
  EXPECT_THAT(replaced_problem("state_dict_metadata", "state_dict_metaData"),
              HasSubstr("a dict without the key 'state_dict_metadata'"));
  EXPECT_THAT(replaced_problem("storage_data", "storage_dAta"),
              HasSubstr("a dict without the key 'storage_data'"));
  EXPECT_THAT(renamed_problem(metadata_module, "TensorStorageMetadata", "TensorProperties"),
              HasSubstr("expected torch.distributed.checkpoint.metadata.TensorStorageMetadata"));
  EXPECT_THAT(renamed_problem(metadata_module, "Metadata", "MetadataIndex"),
              HasSubstr("expected torch.distributed.checkpoint.metadata.Metadata"));
  EXPECT_THAT(replaced_problem(pickled_name("torch", "Size"), pickled_name("pathlib", "PosixPath")),
              HasSubstr("expected torch.Size, got pathlib.PosixPath"));
  EXPECT_THAT(replaced_problem("length", "lengtH"), HasSubstr("a dict without the key 'length'"));
  EXPECT_THAT(error_text([] { read_dcp_metadata(testing::bytes_of("N.")); }),
              HasSubstr("expected an object, got None"));
  EXPECT_THAT(error_text([] { read_dcp_metadata({}); }), HasSubstr("ends too early"));
}

// One tensor of a dtype that isn't read must not hide the others.
TEST(DcpMetadata, KeepsTensorsOfOtherDtypesAsNames) {
  DcpMetadata sample = testing::sample_metadata();
  std::string text = testing::text_of(dcp_metadata_pickle(sample));
  std::string from = pickled_name("torch", "bfloat16"), to = pickled_name("torch", "bfloat17");
  text.replace(text.find(from), from.size(), to);
  DcpMetadata read = read_dcp_metadata(testing::bytes_of(text));
  EXPECT_EQ(read.tensors.size() + 1, sample.tensors.size());
  EXPECT_EQ(read.objects.size(), sample.objects.size() + 1);
  EXPECT_EQ(read.objects[0].name, "model.w");
  EXPECT_THAT(read.objects[0].unread_tensor, HasSubstr("torch.bfloat17["));
}

// A file that is cut off must never be taken for a smaller one.
TEST(DcpMetadata, RefusesEveryTruncation) {
  DirectoryStore store(SIMMESH_SOURCE_DIR "/tests/cases/checkpoint/dcp/native_1d_uneven");
  std::vector<std::byte> bytes = read_file(store, dcp_metadata_file, 1 << 20);
  EXPECT_GT(read_dcp_metadata(bytes).tensors.size(), 3u);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_NE(error_text([&] { read_dcp_metadata(Bytes(bytes).first(size)); }), "") << size;
}

}  // namespace
}  // namespace simmesh::checkpoint
