#include "replay/run/element_type.h"

#include <algorithm>
#include <array>

namespace simmesh::replay {

namespace {

struct KnownType {
  std::string_view of_tensor, of_comm;
  ElementType type;
};

constexpr std::array<KnownType, 10> known_types = {{
    {"float", "Float", {DType::float32, 1}},
    {"double", "Double", {DType::float64, 1}},
    {"c10::Half", "Half", {DType::float16, 1}},
    {"c10::BFloat16", "BFloat16", {DType::bfloat16, 1}},
    {"long int", "Long", {DType::int64, 1}},
    {"long", "Long", {DType::int64, 1}},
    {"int", "Int", {DType::int32, 1}},
    {"bool", "Bool", {DType::boolean, 1}},
    {"c10::complex<float>", "ComplexFloat", {DType::float32, 2}},
    {"c10::complex<double>", "ComplexDouble", {DType::float64, 2}},
}};

std::int64_t bytes_of_element(const ElementType& type) {
  return std::int64_t(bytes_per_element(type.dtype)) * type.per_element;
}

}  // namespace

ElementType element_type(std::string_view recorded, std::int64_t item_bytes) {
  for (const KnownType& known : known_types)
    if ((recorded == known.of_tensor || recorded == known.of_comm) &&
        (item_bytes == 0 || bytes_of_element(known.type) == item_bytes))
      return known.type;
  return {DType::uint8, std::max<std::int64_t>(item_bytes, 1)};
}

}  // namespace simmesh::replay
