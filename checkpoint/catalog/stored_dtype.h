#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

using simmesh::to_string;

// StoredDType is the type of elements in a file. safetensors knows them all; a Tensor holds those
// that have a DType. The order is that of the safetensors package, which sorts tensors by it.
enum class StoredDType : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64,
};

// to_string returns the name that safetensors has for a type: "BF16", and "BOOL" for boolean.
std::string_view to_string(StoredDType dtype);

// find_stored_dtype is the inverse of to_string; nullopt for a name that isn't known.
std::optional<StoredDType> find_stored_dtype(std::string_view name);

// bits_per_element returns 4, 6 or a multiple of 8.
std::int64_t bits_per_element(StoredDType dtype);

// stored_dtype returns the type in which elements of a DType are stored.
StoredDType stored_dtype(DType dtype);

// tensor_dtype returns the DType of such elements; nullopt where no Tensor holds them.
std::optional<DType> tensor_dtype(StoredDType dtype);

// dtype_name returns PyTorch's name where a Tensor holds such elements ("bfloat16"), else the
// safetensors name.
std::string_view dtype_name(StoredDType dtype);

}  // namespace simmesh::checkpoint
