#include <gmock/gmock.h>

#include "checkpoint/format/formats.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/torch_file/torch_archive.h"
#include "tests/checkpoint/file_bytes.h"

namespace simmesh::checkpoint {
namespace {

// A folder that has a model twice is read from the files that Hugging Face's loaders prefer.
TEST(PyTorchFormat, LeavesFoldersWithSafetensorsFilesToThese) {
  auto store = std::make_shared<MemoryStore>();
  std::vector<std::byte> data = testing::bytes_of("ab");
  testing::add_file(*store, "m/pytorch_model.bin",
                    testing::text_of(torch_tensor_archive(StoredDType::u8, Shape{2}, data)));
  EXPECT_EQ(pytorch_format.opens({store, "m"})->folder, "m");
  OpenCheckpoint file = *pytorch_format.opens({store, "m/pytorch_model.bin"});
  EXPECT_EQ(file.folder, "m");
  EXPECT_EQ(file.catalog.tensors[0].name, "tensor");
  testing::add_file(*store, "m/model.safetensors", "");
  EXPECT_FALSE(pytorch_format.opens({store, "m"}));
}

}  // namespace
}  // namespace simmesh::checkpoint
