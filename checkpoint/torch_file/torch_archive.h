#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/catalog/stored_dtype.h"
#include "checkpoint/store/store.h"
#include "core/check/json_value.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

// ArchivedTensor is a tensor of an archive: row-major elements.
struct ArchivedTensor {
  StoredDType dtype = StoredDType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
};

// read_torch_tensor reads what torch.save writes for one tensor: a zip archive whose members are
// not compressed, with a pickle that says how the elements lie. Raises a ValueError for anything
// else, also for a view that leaves its storage.
ArchivedTensor read_torch_tensor(Bytes archive);

// read_torch_object reads what torch.save writes for a value of numbers, texts, lists and dicts.
JsonValue read_torch_object(Bytes archive);

// torch_tensor_archive and torch_object_archive return what torch.save writes: members begin at a
// multiple of 64 bytes. The same value gives the same bytes.
std::vector<std::byte> torch_tensor_archive(StoredDType dtype, DimSpan shape, Bytes bytes);
std::vector<std::byte> torch_object_archive(const JsonValue& value);

}  // namespace simmesh::checkpoint
