#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/stored_dtype.h"
#include "checkpoint/torch_file/pickle.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

// TorchView is a tensor as a pickle of torch.save has it: a view of a storage.
struct TorchView {
  StoredDType dtype = StoredDType::f32;
  std::string storage;     // the member "data/" + storage has the bytes
  std::int64_t count = 0;  // elements of the storage
  std::int64_t offset = 0;
  Shape shape;
  Strides strides;  // offset and strides count elements

  // is_contiguous is true if the elements are row-major, without gaps.
  bool is_contiguous() const;
};

// torch_size returns the sizes of a torch.Size. Raises a ValueError for any other value; `what` is
// its name in the text.
Dims torch_size(PickleValue value, std::string_view what);

// is_torch_view is true if a value is a tensor or a parameter.
bool is_torch_view(PickleValue value);

// read_torch_view reads a tensor. Raises a ValueError for any other value, for a tensor that leaves
// its storage, and for one with more elements than its storage.
TorchView read_torch_view(PickleValue value);

// check_torch_storage raises a ValueError unless a storage of that many bytes has the elements that
// the view counts.
void check_torch_storage(const TorchView& view, std::int64_t bytes);

}  // namespace simmesh::checkpoint
