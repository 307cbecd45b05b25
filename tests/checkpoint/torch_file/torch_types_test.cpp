#include "checkpoint/torch_file/torch_types.h"

#include <gtest/gtest.h>

namespace simmesh::checkpoint {
namespace {

// Every name leads back to its dtype, and every dtype of a Tensor has PyTorch's name.
TEST(TorchTypes, NamesAreTheirOwnInverse) {
  int known = 0, with_storage = 0;
  for (int i = 0; i <= int(StoredDType::f4_x2); ++i) {
    auto dtype = StoredDType(i);
    if (torch_dtype_name(dtype).empty()) {
      EXPECT_TRUE(torch_storage_name(dtype).empty());
      continue;
    }
    ++known;
    EXPECT_EQ(find_torch_dtype(torch_dtype_name(dtype)), dtype);
    if (torch_storage_name(dtype).empty()) continue;
    ++with_storage;
    EXPECT_EQ(find_torch_storage(torch_storage_name(dtype)), dtype);
  }
  EXPECT_EQ(known, 22);
  EXPECT_EQ(with_storage, 12);
  for (DType dtype : all_dtypes)
    EXPECT_EQ(torch_dtype_name(stored_dtype(dtype)), simmesh::to_string(dtype));
  EXPECT_EQ(torch_storage_name(StoredDType::i64), "LongStorage");
}

TEST(TorchTypes, OtherNamesAreNone) {
  for (const char* name : {"", "float", "FloatStorage", "OrderedDict"})
    EXPECT_EQ(find_torch_dtype(name), std::nullopt) << name;
  for (const char* name : {"", "float32", "Storage", "ctedDict"})
    EXPECT_EQ(find_torch_storage(name), std::nullopt) << name;
}

}  // namespace
}  // namespace simmesh::checkpoint
