#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/stored_dtype.h"
#include "checkpoint/torch_file/pickle.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

// TorchView is a tensor as a pickle of torch.save has it: which elements of which storage.
struct TorchView {
  StoredDType dtype = StoredDType::f32;
  std::string storage;     // the name of the member with its bytes is "data/" and this
  std::int64_t count = 0;  // elements of the storage
  std::int64_t offset = 0;
  Shape shape;
  Strides strides;  // offset and strides count elements

  // is_contiguous says whether the elements lie row-major, one behind the other.
  bool is_contiguous() const;
};

// torch_size returns the sizes of a torch.Size. Raises a ValueError that says what was expected of
// `what` and what came.
Dims torch_size(PickleValue value, std::string_view what);

// The functions and classes that a pickled tensor is made with.
const std::vector<std::string_view>& torch_view_globals();

// is_torch_view says whether a value is a tensor or a parameter.
bool is_torch_view(PickleValue value);

// read_torch_view reads one, and raises a ValueError for a value that is none, and for one whose
// elements don't lie within its storage, or that has more elements than it.
TorchView read_torch_view(PickleValue value);

// check_torch_storage raises a ValueError unless a storage of so many bytes has the view's count of
// elements.
void check_torch_storage(const TorchView& view, std::int64_t bytes);

}  // namespace simmesh::checkpoint
