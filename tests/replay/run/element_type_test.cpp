#include "replay/run/element_type.h"

#include <gtest/gtest.h>

namespace simmesh::replay {

namespace {

// Would fail if a recorded type were held as another one, or as fewer bytes than it has.
TEST(ElementType, HoldsEachTypeInItsBytes) {
  struct Case {
    const char* name;
    std::int64_t item_bytes;
    DType dtype;
    std::int64_t per_element;
  };
  for (const Case& wanted : {Case{"float", 4, DType::float32, 1},
                             {"Float", 4, DType::float32, 1},
                             {"double", 8, DType::float64, 1},
                             {"c10::Half", 2, DType::float16, 1},
                             {"BFloat16", 2, DType::bfloat16, 1},
                             {"long int", 8, DType::int64, 1},
                             {"long", 8, DType::int64, 1},
                             {"Int", 4, DType::int32, 1},
                             {"bool", 1, DType::boolean, 1},
                             {"Byte", 1, DType::uint8, 1},
                             {"unsigned char", 1, DType::uint8, 1},
                             {"c10::complex<float>", 8, DType::float32, 2},
                             {"short int", 2, DType::uint8, 2},
                             {"c10::Float8_e5m2", 1, DType::uint8, 1}}) {
    ElementType type = element_type(wanted.name, wanted.item_bytes);
    EXPECT_EQ(type.dtype, wanted.dtype) << wanted.name;
    EXPECT_EQ(type.per_element, wanted.per_element) << wanted.name;
    EXPECT_EQ(std::int64_t(bytes_per_element(type.dtype)) * type.per_element, wanted.item_bytes);
  }
}

// Would fail if a name were believed where the elements have another size.
TEST(ElementType, SizeDecidesOverName) {
  EXPECT_EQ(element_type("float", 3).dtype, DType::uint8);
  EXPECT_EQ(element_type("float", 3).per_element, 3);
  EXPECT_EQ(element_type("Float", 0).dtype, DType::float32);
  EXPECT_EQ(element_type("", 0).per_element, 1);
}

}  // namespace

}  // namespace simmesh::replay
