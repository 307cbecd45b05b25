#include "checkpoint/torch_file/torch_types.h"

#include <algorithm>
#include <iterator>

namespace simmesh::checkpoint {

namespace {

struct TorchType {
  StoredDType dtype;
  std::string_view dtype_name, storage_name;
};

constexpr TorchType torch_types[] = {
    {StoredDType::f32, "float32", "FloatStorage"},
    {StoredDType::f64, "float64", "DoubleStorage"},
    {StoredDType::f16, "float16", "HalfStorage"},
    {StoredDType::bf16, "bfloat16", "BFloat16Storage"},
    {StoredDType::i64, "int64", "LongStorage"},
    {StoredDType::i32, "int32", "IntStorage"},
    {StoredDType::i16, "int16", "ShortStorage"},
    {StoredDType::i8, "int8", "CharStorage"},
    {StoredDType::u8, "uint8", "ByteStorage"},
    {StoredDType::boolean, "bool", "BoolStorage"},
    {StoredDType::c64, "complex64", "ComplexFloatStorage"},
    {StoredDType::c128, "complex128", "ComplexDoubleStorage"},
    {StoredDType::c32, "complex32", ""},
    {StoredDType::f4_x2, "float4_e2m1fn_x2", ""},
    {StoredDType::f8_e4m3, "float8_e4m3fn", ""},
    {StoredDType::f8_e5m2, "float8_e5m2", ""},
    {StoredDType::f8_e4m3fnuz, "float8_e4m3fnuz", ""},
    {StoredDType::f8_e5m2fnuz, "float8_e5m2fnuz", ""},
    {StoredDType::f8_e8m0, "float8_e8m0fnu", ""},
    {StoredDType::u16, "uint16", ""},
    {StoredDType::u32, "uint32", ""},
    {StoredDType::u64, "uint64", ""},
};

template <class Predicate>
const TorchType* find_type(Predicate predicate) {
  auto found = std::find_if(std::begin(torch_types), std::end(torch_types), predicate);
  return found == std::end(torch_types) ? nullptr : &*found;
}

const TorchType* type_of(StoredDType dtype) {
  return find_type([&](const TorchType& type) { return type.dtype == dtype; });
}

std::optional<StoredDType> dtype_or_none(const TorchType* type) {
  return type == nullptr ? std::nullopt : std::optional(type->dtype);
}

}  // namespace

std::string_view torch_dtype_name(StoredDType dtype) {
  const TorchType* type = type_of(dtype);
  return type == nullptr ? "" : type->dtype_name;
}

std::string_view torch_storage_name(StoredDType dtype) {
  const TorchType* type = type_of(dtype);
  return type == nullptr ? "" : type->storage_name;
}

std::optional<StoredDType> find_torch_dtype(std::string_view name) {
  return dtype_or_none(find_type([&](const TorchType& type) { return type.dtype_name == name; }));
}

std::optional<StoredDType> find_torch_storage(std::string_view name) {
  if (name.empty()) return std::nullopt;
  return dtype_or_none(find_type([&](const TorchType& type) { return type.storage_name == name; }));
}

}  // namespace simmesh::checkpoint
