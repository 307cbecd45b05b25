#include "core/autograd/saved_tensor.h"

#include "core/autograd/variable.h"
#include "core/autograd/view_record.h"
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
  if (tensor.requires_grad()) {
    Variable& variable = *Variable::of(tensor);
    edge_ = variable.edge(tensor);
    if (variable.is_leaf()) leaf_ = tensor.tracking();
    kind_ = variable.view_kind();
  }
  if (const SavedTensorHooks::Pack* active = SavedTensorHooks::active()) {
    SavedTensorHooks::Pack pack = *active;
    unpack_ = pack(tensor.detach());
    return;
  }
  tensor_ = tensor.without_tracking();
  if (tensor_.storage()) mark_ = Mark(tensor_.storage().get());
  if (StoragePtr storage = storage_of(tensor_)) changes_ = storage->changes();
}

// Says what became of a view as well, where the tape refuses that, as PyTorch does.
void SavedTensor::refuse(const Node& owner, std::uint32_t changes) const {
  if (edge_.node)
    check_view(kind_, edge_, ViewChange::elsewhere, owner.name());
  else  // of a copy, since a tensor keeps its part of the tape once it was asked for
    Variable::edge_of(Tensor(tensor_));
  raise(ErrorKind::runtime_error, "autograd/backward",
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: {}{}, saved by {}, is at version {}; expected version {}",
        to_string(tensor_.dtype()), to_string(DimSpan(tensor_.shape())), owner.name(), changes,
        changes_);
}

Tensor SavedTensor::unpack(const Node& owner) const {
  if (!unpack_)
    if (StoragePtr storage = storage_of(tensor_); storage && storage->changes() != changes_)
      refuse(owner, storage->changes());
  Tensor result = unpack_ ? unpack_().detach() : tensor_.detach();
  if (leaf_)
    result.set_tracking(leaf_);
  else if (edge_.node)
    result.set_tracking(new Variable(edge_.node, edge_.output));
  return result;
}

}  // namespace simmesh
