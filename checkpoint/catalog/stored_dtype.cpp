#include "checkpoint/catalog/stored_dtype.h"

#include <algorithm>
#include <iterator>

namespace simmesh::checkpoint {

namespace {

struct Row {
  std::string_view name;
  std::int64_t bits;
  std::optional<DType> dtype = {};
};

// The types in the order of StoredDType.
constexpr Row rows[] = {
    {"BOOL", 8, DType::boolean},
    {"F4", 4},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"U8", 8, DType::uint8},
    {"I8", 8},
    {"F8_E5M2", 8},
    {"F8_E4M3", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"I16", 16},
    {"U16", 16},
    {"F16", 16, DType::float16},
    {"BF16", 16, DType::bfloat16},
    {"I32", 32, DType::int32},
    {"U32", 32},
    {"F32", 32, DType::float32},
    {"C64", 64},
    {"F64", 64, DType::float64},
    {"I64", 64, DType::int64},
    {"U64", 64},
    {"C32", 32},
    {"C128", 128},
    {"F4_X2", 8},
};

const Row& row(StoredDType dtype) { return rows[std::size_t(dtype)]; }

template <class Predicate>
std::optional<StoredDType> find(Predicate predicate) {
  auto found = std::find_if(std::begin(rows), std::end(rows), predicate);
  if (found == std::end(rows)) return std::nullopt;
  return StoredDType(found - std::begin(rows));
}

}  // namespace

std::string_view to_string(StoredDType dtype) { return row(dtype).name; }

std::optional<StoredDType> find_stored_dtype(std::string_view name) {
  return find([&](const Row& candidate) { return candidate.name == name; });
}

std::int64_t bits_per_element(StoredDType dtype) { return row(dtype).bits; }

StoredDType stored_dtype(DType dtype) {
  return *find([&](const Row& candidate) { return candidate.dtype == dtype; });
}

std::optional<DType> tensor_dtype(StoredDType dtype) { return row(dtype).dtype; }

bool is_safetensors_dtype(StoredDType dtype) { return dtype <= StoredDType::u64; }

std::string_view dtype_name(StoredDType dtype) {
  return row(dtype).dtype ? simmesh::to_string(*row(dtype).dtype) : row(dtype).name;
}

}  // namespace simmesh::checkpoint
