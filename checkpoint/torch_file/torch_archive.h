#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/catalog/stored_dtype.h"
#include "checkpoint/store/store.h"
#include "core/check/json_value.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

// ArchivedTensor is a tensor of an archive. The bytes are its row-major elements.
struct ArchivedTensor {
  StoredDType dtype = StoredDType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
};

// read_torch_tensor reads the archive that torch.save writes for one tensor: a zip archive without
// compression, whose pickle has the layout of the elements. Raises a ValueError for anything else,
// and for a view that leaves its storage.
ArchivedTensor read_torch_tensor(Bytes archive);

// read_torch_object reads the archive that torch.save writes for a value of any class, as json_of
// does.
JsonValue read_torch_object(Bytes archive);

// torch_tensor_archive and torch_object_archive return such archives. Members begin at a multiple
// of 64 bytes, as with torch.save. The same value gives the same bytes.
std::vector<std::byte> torch_tensor_archive(StoredDType dtype, DimSpan shape, Bytes bytes);
std::vector<std::byte> torch_object_archive(const JsonValue& value);

}  // namespace simmesh::checkpoint
