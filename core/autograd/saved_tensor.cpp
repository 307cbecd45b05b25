#include "core/autograd/saved_tensor.h"

#include "core/check/error.h"
#include "core/engine/ranks/local_state.h"

namespace simmesh {

namespace {

struct HookStack {
  std::vector<SavedTensorHooks::Pack> packs;
};

HookStack& hooks() { return local_state<HookStack>(); }

// Returns the storage of the rank's part of the tensor, which counts changes.
StoragePtr storage_of(const Tensor& tensor) {
  return tensor.distribution() ? tensor.local_part().storage() : tensor.storage();
}

}  // namespace

SavedTensorHooks::SavedTensorHooks(Pack pack) { hooks().packs.push_back(std::move(pack)); }

SavedTensorHooks::~SavedTensorHooks() { hooks().packs.pop_back(); }

const SavedTensorHooks::Pack* SavedTensorHooks::active() {
  HookStack& stack = hooks();
  return stack.packs.empty() ? nullptr : &stack.packs.back();
}

SavedTensor::SavedTensor(const Tensor& tensor) {
  if (!tensor.is_defined()) return;
  tracking_ = tensor.tracking();
  if (const SavedTensorHooks::Pack* active = SavedTensorHooks::active()) {
    SavedTensorHooks::Pack pack = *active;
    unpack_ = pack(tensor.detach());
    return;
  }
  tensor_ = tensor.detach();
  if (StoragePtr storage = storage_of(tensor_)) changes_ = storage->changes();
}

Tensor SavedTensor::unpack(const Node& owner) const {
  Tensor result = unpack_ ? unpack_().detach() : tensor_;
  StoragePtr storage = unpack_ ? nullptr : storage_of(result);
  if (storage && storage->changes() != changes_)
    raise(ErrorKind::runtime_error, "autograd/backward",
          "one of the variables needed for gradient computation has been modified by an inplace "
          "operation: {}{}, saved by {}, is at version {}; expected version {}",
          to_string(result.dtype()), to_string(DimSpan(result.shape())), owner.name(),
          storage->changes(), changes_);
  result.set_tracking(tracking_);
  return result;
}

}  // namespace simmesh
