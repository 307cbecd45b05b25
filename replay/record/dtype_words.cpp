#include "replay/record/dtype_words.h"

#include "core/check/check.h"

namespace simmesh::replay {

std::string_view type_word(DType dtype) {
  switch (dtype) {
    case DType::float64: return "double";
    case DType::float32: return "float";
    case DType::bfloat16: return "c10::BFloat16";
    case DType::float16: return "c10::Half";
    case DType::int64: return "long int";
    case DType::int32: return "int";
    case DType::uint8: return "unsigned char";
    case DType::boolean: return "bool";
  }
  SIMMESH_CHECK(false, "unknown DType {}", int(dtype));
}

int scalar_type(DType dtype) {
  switch (dtype) {
    case DType::float64: return 7;
    case DType::float32: return 6;
    case DType::bfloat16: return 15;
    case DType::float16: return 5;
    case DType::int64: return 4;
    case DType::int32: return 3;
    case DType::uint8: return 0;
    case DType::boolean: return 11;
  }
  SIMMESH_CHECK(false, "unknown DType {}", int(dtype));
}

}  // namespace simmesh::replay
