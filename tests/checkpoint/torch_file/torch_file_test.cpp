#include "checkpoint/torch_file/torch_file.h"

#include <gmock/gmock.h>

#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/torch_file/torch_archive.h"
#include "checkpoint/torch_file/zip_archive.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using testing::bytes_of;
using ::testing::HasSubstr;
using testing::text_of;

TEST(TorchFile, FindsTheElementsOfATensor) {
  MemoryStore store;
  add_file(store, "f.pt",
           text_of(torch_tensor_archive(StoredDType::i16, Shape{2, 2}, bytes_of("aabbccdd"))));
  TorchFile file(store, "f.pt");
  TorchFile::Place place = file.place(file.root());
  EXPECT_EQ(place.dtype, StoredDType::i16);
  EXPECT_EQ(place.shape, (Shape{2, 2}));
  EXPECT_EQ(place.bytes, 8);
  EXPECT_EQ(text_of(file.read(place)), "aabbccdd");
  EXPECT_THAT(error_text([&] { file.place(file.root()->items[1]); }),
              HasSubstr("memory/f.pt: torch._utils._rebuild_tensor_v2: expected an object"));
}

// Elements of a transposed matrix lie where their strides lead, and the place has all between.
TEST(TorchFile, FindsElementsThatAreNotRowMajor) {
  DirectoryStore store(SIMMESH_SOURCE_DIR "/tests/checkpoint/pytorch/files");
  TorchFile file(store, "training.pt");
  PickleValue model = field(file.root(), "model");
  TorchFile::Place place = file.place(field(model, "w_t"));
  EXPECT_EQ(place.shape, (Shape{3, 2}));
  EXPECT_EQ(place.bytes, 24);
  EXPECT_EQ(place.chunk("f").strides, (Strides{1, 3}));
  EXPECT_FALSE(file.place(field(model, "w")).strides);
  EXPECT_THAT(error_text([&] { file.row_major_place(field(model, "w_t")); }),
              HasSubstr("expected a tensor of contiguous elements"));
  EXPECT_THAT(error_text([&] { file.place(field(file.root(), "conjugates")); }),
              HasSubstr("a view of which PyTorch computes the elements (conj)"));
}

// Each message names the file.
TEST(TorchFile, RefusesWhatTorchSaveDoesntWrite) {
  std::string archive = text_of(torch_tensor_archive(StoredDType::u8, Shape{2}, bytes_of("ab")));
  auto problem = [&](const std::string& text) {
    MemoryStore store;
    add_file(store, "f.pt", text);
    return error_text([&] {
      TorchFile file(store, "f.pt");
      file.place(file.root());
    });
  };
  EXPECT_EQ(problem(archive), "");
  EXPECT_THAT(problem("text"), HasSubstr("memory/f.pt: it is no zip archive"));
  auto of_members = [&](const std::vector<ZipMember>& members) {
    return problem(text_of(zip_of(members, 64)));
  };
  EXPECT_THAT(of_members({{"a/x", {}}}), HasSubstr("an archive without the member data.pkl"));
  EXPECT_THAT(of_members({{"a/x", {}}, {"b/x", {}}}), HasSubstr("a member comes twice"));
  EXPECT_THAT(of_members({{"a/byteorder", bytes_of("big")}}),
              HasSubstr("expected the byte order little"));
  EXPECT_THAT(of_members({{"a/data.pkl", bytes_of("N.")}}), HasSubstr("got None"));
  std::string flipped = archive;
  flipped[flipped.find("_rebuild") + 2] ^= 1;
  EXPECT_THAT(problem(flipped), HasSubstr("the member data.pkl is corrupt"));
  std::string without = archive;
  for (std::size_t at = without.find("data/0"); at != without.npos; at = without.find("data/0"))
    without[at + 5] = '1';
  EXPECT_THAT(problem(without), HasSubstr("an archive without the member data/0"));
}

}  // namespace
}  // namespace simmesh::checkpoint
