#pragma once

#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <unordered_map>

#include "core/arithmetic/companions/exact_record.h"
#include "python/bindings/torch/tensor_layout.h"

namespace simmesh::python {

// StorageOfTensor is the storage of a tensor of torch: its object, which has an address of its own
// while anything refers to it, and its memory, which is asked for when it is needed.
class StorageOfTensor {
 public:
  explicit StorageOfTensor(nanobind::handle tensor);

  const nanobind::object& object() const { return object_; }
  std::uintptr_t address() const { return address_; }
  std::int64_t bytes() const;
  std::uintptr_t begin() const;

 private:
  nanobind::object object_;
  std::uintptr_t address_;
};

// elements_in adds the place of an array of elements in their storage.
ElementsOfStorage elements_in(ElementArray array, const StorageOfTensor& storage);

// elements_of_storage describes a floating or complex tensor and its place in its storage.
// bytes_of_storage does so for a tensor of any dtype, whose elements are only written over.
ElementsOfStorage elements_of_storage(nanobind::handle tensor);
ElementsOfStorage bytes_of_storage(nanobind::handle tensor);

// KeptRecords are the records of exact values of all storages of this process. A storage is weakly
// held: its record ends with it, and when it gets another size. The GIL protects all of it.
class KeptRecords {
 public:
  using Record = std::shared_ptr<ExactRecord>;

  static KeptRecords& all();

  // find returns the record of a storage, null where nothing was kept for it. find_or_make makes
  // one where there is none, but not for a parameter's storage, whose elements are rounded.
  Record find(const StorageOfTensor& storage);
  Record find_or_make(const StorageOfTensor& storage);

  // round lets a parameter's storage carry nothing, from now on; is_rounded says that it was
  // called.
  void round(const StorageOfTensor& storage);
  bool is_rounded(const StorageOfTensor& storage) const;

  // nbytes counts what the records of living storages take.
  std::int64_t nbytes();

 private:
  struct Kept {
    std::uintptr_t reference = 0;  // torch's weak reference
    std::int64_t bytes = 0;
    Record record;
    bool is_rounded = false;
  };

  Kept& entry(const StorageOfTensor& storage);
  static void fit(Kept& kept, const StorageOfTensor& storage);
  void forget_dead();

  // By the address of torch's object, which isn't used again while a weak reference exists.
  std::unordered_map<std::uintptr_t, Kept> kept_;
  std::size_t next_look_ = 0;
  std::int64_t new_bytes_ = 0, next_look_bytes_ = 0;
  nanobind::object storage_type_;
};

// carried_values_of returns what copies and collectives move: the exact values behind a tensor's
// elements, roots as roots. arithmetic_values_of returns what arithmetic reads: the elements in
// place of roots.
ExactValues carried_values_of(nanobind::handle tensor);
ExactValues arithmetic_values_of(nanobind::handle tensor);

// keep_behind rounds values into a tensor's elements, and keeps them unless these are a
// parameter's.
void keep_behind(nanobind::handle tensor, const ExactValues& values);

// drop_behind ends what stands behind a tensor's elements.
void drop_behind(nanobind::handle tensor);

}  // namespace simmesh::python
