#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

using simmesh::to_string;

// StoredDType is the dtype of elements in a file. A Tensor has those with a DType. safetensors has
// those before c32, in the order of its package, which sorts tensors by it. PyTorch has the others
// too: half and double complex numbers, and bytes of two F4 elements each.
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
  c32,
  c128,
  f4_x2,
};

// to_string returns the name in safetensors, or one in its style: "BF16", and "BOOL" for boolean.
std::string_view to_string(StoredDType dtype);

// find_stored_dtype is the inverse of to_string. It returns nullopt for an unknown name.
std::optional<StoredDType> find_stored_dtype(std::string_view name);

// bits_per_element returns 4, 6 or a multiple of 8.
std::int64_t bits_per_element(StoredDType dtype);

// stored_dtype returns the dtype in which elements of a DType are stored.
StoredDType stored_dtype(DType dtype);

// tensor_dtype returns the DType of stored elements, nullopt if no Tensor can hold them.
std::optional<DType> tensor_dtype(StoredDType dtype);

// is_safetensors_dtype is true if safetensors has a dtype.
bool is_safetensors_dtype(StoredDType dtype);

// dtype_name returns PyTorch's name, "bfloat16", if a Tensor can hold the elements, else the name
// in safetensors.
std::string_view dtype_name(StoredDType dtype);

}  // namespace simmesh::checkpoint
