#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "core/autograd/node.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// SavedTensorHooks passes every tensor that the tape saves in its scope through pack, which returns
// a function that gives the tensor back: to keep it elsewhere, or to compute it again. Like
// PyTorch's saved_tensors_hooks; the innermost scope counts.
//
//   SavedTensorHooks scope([](const Tensor& x) { return [half = to(x, DType::bfloat16)] {
//     return to(half, DType::float32); }; });
class SavedTensorHooks {
 public:
  using Unpack = std::function<Tensor()>;
  using Pack = std::function<Unpack(const Tensor& tensor)>;

  explicit SavedTensorHooks(Pack pack);
  ~SavedTensorHooks();
  SavedTensorHooks(const SavedTensorHooks&) = delete;
  SavedTensorHooks& operator=(const SavedTensorHooks&) = delete;

  // active returns the innermost hook of this rank, null where there is none.
  static const Pack* active();
};

// PreservedVersion makes changes of a tensor in its scope count as none. It is for code that writes
// back the former elements, such as an all-gather into a parameter whose memory was freed
// meanwhile. Like PyTorch's _unsafe_preserve_version_counter.
class PreservedVersion {
 public:
  explicit PreservedVersion(const Tensor& tensor)
      : storage_(tensor.storage()), changes_(storage_->changes()) {}
  ~PreservedVersion() { storage_->set_changes(changes_); }
  PreservedVersion(const PreservedVersion&) = delete;
  PreservedVersion& operator=(const PreservedVersion&) = delete;

 private:
  StoragePtr storage_;
  std::uint32_t changes_;
};

// SavedTensor keeps a tensor for a node's backward. It views the tensor's storage, and detects an
// operation in place that has changed it since. It keeps the tensor's place on the tape, and not
// what else the tensor owns: a tensor that is changed in place may become the output of a node that
// has saved it.
class SavedTensor {
 public:
  SavedTensor() = default;
  // Takes the tensor with its part of the tape. An output of the node must come without it: the
  // node would own itself.
  explicit SavedTensor(const Tensor& tensor);

  bool is_defined() const { return tensor_.is_defined() || unpack_; }

  // unpack returns the tensor to the node that saved it. Raises a RuntimeError where it was changed
  // in place.
  Tensor unpack(const Node& owner) const;

 private:
  // Tells a storage that one of its owners is a saved tensor.
  class Mark {
   public:
    Mark() = default;
    explicit Mark(Storage* storage) : storage_(storage) { count(1); }
    Mark(const Mark& other) : storage_(other.storage_) { count(1); }
    Mark(Mark&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
    Mark& operator=(Mark other) noexcept {
      std::swap(storage_, other.storage_);
      return *this;
    }
    ~Mark() { count(-1); }

   private:
    void count(int change) const {
      if (storage_) storage_->count_saved(change);
    }
    Storage* storage_ = nullptr;
  };

  [[noreturn]] void refuse(const Node& owner, std::uint32_t changes) const;

  Tensor tensor_;
  Mark mark_;  // goes before the tensor, which owns the storage
  SavedTensorHooks::Unpack unpack_;
  TrackingPtr leaf_;  // of a leaf; other tensors have an edge
  Edge edge_;
  ViewKind kind_ = ViewKind::none;
  std::uint32_t changes_ = 0;
};

}  // namespace simmesh
