#include "replay/record/dtype_words.h"

#include <gtest/gtest.h>
#include <set>

#include "replay/read/node_arguments.h"

namespace simmesh::replay {
namespace {

// The words in PyTorch's traces, and c10's numbers.
TEST(DtypeWords, AreThoseOfPyTorch) {
  EXPECT_EQ(type_word(DType::int64), "long int");
  EXPECT_EQ(type_word(DType::bfloat16), "c10::BFloat16");
  EXPECT_EQ(scalar_type(DType::float32), 6);
  EXPECT_EQ(scalar_type(DType::bfloat16), 15);
  std::set<std::string_view> names;
  std::set<int> numbers;
  for (DType dtype : all_dtypes) {
    names.insert(c10_type(type_word(dtype)));
    numbers.insert(scalar_type(dtype));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"Double", "Float", "BFloat16", "Half", "Long", "Int",
                                               "Byte", "Bool"}));
  EXPECT_EQ(numbers, (std::set<int>{7, 6, 15, 5, 4, 3, 0, 11}));
}

}  // namespace
}  // namespace simmesh::replay
