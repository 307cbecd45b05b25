#include "core/tensor/dtype.h"

#include "core/check/error.h"

namespace simmesh {

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::float64: return "float64";
    case DType::float32: return "float32";
    case DType::bfloat16: return "bfloat16";
    case DType::float16: return "float16";
    case DType::int64: return "int64";
    case DType::int32: return "int32";
    case DType::uint8: return "uint8";
    case DType::boolean: return "bool";
  }
  SIMMESH_CHECK(false, "unknown dtype {}", static_cast<int>(dtype));
}

DType dtype_from_string(std::string_view name) {
  for (DType dtype : all_dtypes)
    if (to_string(dtype) == name) return dtype;
  raise(ErrorKind::value_error, "tensor/dtype",
        "expected one of float64, float32, bfloat16, float16, int64, int32, uint8, bool, got '{}'",
        name);
}

}  // namespace simmesh
