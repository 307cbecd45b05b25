#include "checkpoint/pytorch/pytorch_checkpoint.h"

#include <gmock/gmock.h>

#include "checkpoint/read/open.h"
#include "checkpoint/read/read_tensor.h"
#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/tools/convert.h"
#include "checkpoint/tools/diff.h"
#include "checkpoint/tools/verify.h"
#include "checkpoint/torch_file/torch_archive.h"
#include "core/check/json_value.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::text_of;

Location recorded_file(const std::string& name) {
  return {std::make_shared<DirectoryStore>(SIMMESH_SOURCE_DIR "/tests/checkpoint/pytorch/files"),
          name};
}

std::vector<float> floats_of(const Location& location, const OpenCheckpoint& opened,
                             std::string_view name) {
  const StoredTensor* tensor = opened.catalog.find(name);
  if (tensor == nullptr) return {};
  std::vector<std::byte> bytes = read_tensor(*location.store, opened, *tensor);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string value_of(const OpenCheckpoint& opened, std::string_view name) {
  const StoredObject* object = opened.catalog.find_object(name);
  return object == nullptr ? "" : object->value.text();
}

// Both forms of torch.save hold the same, views that aren't row-major too.
TEST(PyTorchCheckpoint, ReadsBothFormsOfATraining) {
  for (const char* file : {"training.pt", "training_legacy.pt"}) {
    Location location = recorded_file(file);
    OpenCheckpoint opened = open(location);
    EXPECT_EQ(opened.catalog.format, "pytorch");
    EXPECT_THAT(floats_of(location, opened, "model.w"), ElementsAre(0, 1, 2, 3, 4, 5)) << file;
    EXPECT_THAT(floats_of(location, opened, "model.w_t"), ElementsAre(0, 3, 1, 4, 2, 5));
    EXPECT_THAT(floats_of(location, opened, "model.row"), ElementsAre(3, 4, 5));
    EXPECT_THAT(floats_of(location, opened, "numbers"), ElementsAre(1, 2, 3, -1));
    EXPECT_THAT(floats_of(location, opened, "optimizer.state.0.exp_avg"),
                ElementsAre(0, 2, 4, 6, 8, 10));
    EXPECT_EQ(opened.catalog.find("model.half")->dtype, StoredDType::bf16);
    EXPECT_EQ(opened.catalog.find("none")->shape, (Shape{0, 3}));
    EXPECT_EQ(value_of(opened, "epoch"), "3");
    EXPECT_EQ(value_of(opened, "names"), R"(["a"])");
    EXPECT_EQ(value_of(opened, "optimizer.param_groups"), R"([{"lr":0.1}])");
    EXPECT_EQ(opened.catalog.find("conjugates"), nullptr) << "its elements aren't stored";
    EXPECT_THAT(value_of(opened, "conjugates"), HasSubstr("$opaque"));
    EXPECT_THAT(value_of(opened, "quantised"), HasSubstr("_rebuild_qtensor"));
    EXPECT_THAT(verify(location), ElementsAre());
    Location to = {std::make_shared<MemoryStore>(), "to"};
    ConvertReport report = convert(location, to, {.format = dcp_format});
    EXPECT_EQ(report.unread_classes.size(), 2u);
    for (const Difference& difference : diff(location, to))
      EXPECT_EQ(difference.text, "only in the first") << difference.name;
  }
}

TEST(PyTorchCheckpoint, ReadsAWholeModuleByTheNamesOfItsState) {
  Location location = recorded_file("module.pt");
  OpenCheckpoint opened = open(location);
  std::vector<std::string> names;
  for (const StoredTensor& tensor : opened.catalog.tensors) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("scale", "fc.weight", "fc.bias", "head.weight"));
  EXPECT_THAT(floats_of(location, opened, "fc.bias"), ElementsAre(10, 11, 12));
  EXPECT_EQ(value_of(opened, "object"), R"({"$opaque":"train.Net"})");
}

void add_tensor(MemoryStore& store, const std::string& path) {
  std::vector<std::byte> data = testing::bytes_of("ab");
  add_file(store, path, text_of(torch_tensor_archive(StoredDType::u8, Shape{2}, data)));
}

TEST(PyTorchCheckpoint, ChoosesTheFilesOfAFolder) {
  MemoryStore store;
  EXPECT_THAT(pytorch_files(store, "m"), ElementsAre());
  add_tensor(store, "m/training_args.bin");
  EXPECT_THAT(pytorch_files(store, "m"), ElementsAre("training_args.bin"));
  add_tensor(store, "m/optimizer.pt");
  EXPECT_THAT(error_text([&] { pytorch_files(store, "m"); }),
              HasSubstr("expected one file of torch.save, or pytorch_model.bin.index.json, got "
                        "optimizer.pt, training_args.bin; name one of them"));
  add_tensor(store, "m/pytorch_model.bin");
  EXPECT_THAT(pytorch_files(store, "m"), ElementsAre("pytorch_model.bin"));
}

// An index must name each tensor in the file that has it.
TEST(PyTorchCheckpoint, ComparesTheIndexWithItsFiles) {
  auto problem = [](const std::string& weight_map) {
    auto store = std::make_shared<MemoryStore>();
    add_tensor(*store, "m/pytorch_model-00001-of-00001.bin");
    add_file(*store, "m/pytorch_model.bin.index.json", "{\"weight_map\":" + weight_map + "}");
    return error_text([&] { open({store, "m"}); });
  };
  EXPECT_EQ(problem(R"({"tensor":"pytorch_model-00001-of-00001.bin"})"), "");
  EXPECT_THAT(problem("{}"), HasSubstr("the index says otherwise"));
  EXPECT_THAT(problem(R"({"w":"pytorch_model-00001-of-00001.bin"})"),
              HasSubstr("the index says otherwise"));
  EXPECT_THAT(problem(R"({"tensor":"pytorch_model-00001-of-00001.bin",)"
                      R"("w":"pytorch_model-00001-of-00001.bin"})"),
              HasSubstr("'w' isn't in pytorch_model-00001-of-00001.bin"));
  EXPECT_THAT(problem(R"({"tensor":"../other.bin"})"), HasSubstr("the file of 'tensor' is"));
}

// A flipped bit in a tensor must be found by the checksum of its member.
TEST(PyTorchCheckpoint, VerifiesChecksums) {
  auto store = std::make_shared<MemoryStore>();
  add_tensor(*store, "w.pt");
  EXPECT_THAT(verify({store, "w.pt"}), ElementsAre());
  const StoredTensor tensor = read_pytorch_file(*store, "", "w.pt").tensors[0];
  store->flip("w.pt", tensor.chunks[0].begin, 1);
  EXPECT_THAT(verify({store, "w.pt"}), ElementsAre(HasSubstr("data/0 is corrupt")));
}

}  // namespace
}  // namespace simmesh::checkpoint
