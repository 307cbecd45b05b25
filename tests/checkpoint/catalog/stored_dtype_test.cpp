#include "checkpoint/catalog/stored_dtype.h"

#include <gtest/gtest.h>

namespace simmesh::checkpoint {
namespace {

TEST(StoredDType, NamesAreTheirOwnInverse) {
  for (int i = 0; i <= int(StoredDType::f4_x2); ++i) {
    auto dtype = StoredDType(i);
    EXPECT_EQ(find_stored_dtype(to_string(dtype)), dtype) << to_string(dtype);
  }
  EXPECT_EQ(to_string(StoredDType::boolean), "BOOL");
  EXPECT_EQ(to_string(StoredDType::f8_e4m3), "F8_E4M3");
  for (const char* name : {"", "f32", "F32 ", "BOOLEAN"})
    EXPECT_EQ(find_stored_dtype(name), std::nullopt) << name;
}

// Every dtype of a Tensor is stored with the bits that it has in memory, and comes back.
TEST(StoredDType, HoldsEveryTensor) {
  for (DType dtype : all_dtypes) {
    StoredDType stored = stored_dtype(dtype);
    EXPECT_EQ(tensor_dtype(stored), dtype);
    EXPECT_EQ(bits_per_element(stored), std::int64_t(8 * bytes_per_element(dtype)));
    EXPECT_EQ(dtype_name(stored), simmesh::to_string(dtype));
  }
  EXPECT_EQ(tensor_dtype(StoredDType::u16), std::nullopt);
  EXPECT_EQ(dtype_name(StoredDType::u16), "U16");
  EXPECT_EQ(bits_per_element(StoredDType::f4), 4);
  EXPECT_EQ(bits_per_element(StoredDType::f6_e3m2), 6);
  EXPECT_EQ(bits_per_element(StoredDType::c64), 64);
  EXPECT_EQ(bits_per_element(StoredDType::c128), 128);
  EXPECT_TRUE(is_safetensors_dtype(StoredDType::u64));
  EXPECT_FALSE(is_safetensors_dtype(StoredDType::c32));
}

}  // namespace
}  // namespace simmesh::checkpoint
