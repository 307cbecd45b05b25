#include "python/bindings/torch/kept_records.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "python/bindings/torch/torch_array.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// Names are made once.
nb::object called(nb::handle object, PyObject* name) {
  PyObject* result = PyObject_CallMethodNoArgs(object.ptr(), name);
  if (!result) nb::raise_python_error();
  return nb::steal(result);
}

PyObject* name_of(const char* text) { return PyUnicode_InternFromString(text); }

std::optional<ExactValues> values_behind(nb::handle tensor) {
  StorageOfTensor storage(tensor);
  KeptRecords::Record record = KeptRecords::all().find(storage);
  if (!record) return std::nullopt;
  return record->read(elements_in(element_array(tensor), storage));
}

}  // namespace

StorageOfTensor::StorageOfTensor(nb::handle tensor) {
  static PyObject* const untyped_storage = name_of("untyped_storage");
  static PyObject* const cdata = name_of("_cdata");
  object_ = called(tensor, untyped_storage);
  address_ = nb::cast<std::uintptr_t>(object_.attr(nb::handle(cdata)));
}

std::int64_t StorageOfTensor::bytes() const {
  static PyObject* const nbytes = name_of("nbytes");
  return nb::cast<std::int64_t>(called(object_, nbytes));
}

std::uintptr_t StorageOfTensor::begin() const {
  static PyObject* const data_ptr = name_of("data_ptr");
  return nb::cast<std::uintptr_t>(called(object_, data_ptr));
}

ElementsOfStorage elements_in(ElementArray array, const StorageOfTensor& storage) {
  // A tensor without elements has no address.
  if (!array.data) return {std::move(array), 0};
  auto offset = std::int64_t(reinterpret_cast<std::uintptr_t>(array.data) - storage.begin());
  return {std::move(array), offset};
}

ElementsOfStorage elements_of_storage(nb::handle tensor) {
  return elements_in(element_array(tensor), StorageOfTensor(tensor));
}

ElementsOfStorage bytes_of_storage(nb::handle tensor) {
  HostArray array = torch_array(tensor);
  return elements_in({array.data, array.dtype, array.shape, array.strides},
                     StorageOfTensor(tensor));
}

KeptRecords& KeptRecords::all() {
  static auto* records = new KeptRecords();
  return *records;
}

void KeptRecords::fit(Kept& kept, const StorageOfTensor& storage) {
  std::int64_t bytes = storage.bytes();
  if (bytes == kept.bytes) return;
  kept.bytes = bytes;
  kept.record = nullptr;
}

KeptRecords::Record KeptRecords::find(const StorageOfTensor& storage) {
  auto found = kept_.find(storage.address());
  if (found == kept_.end()) return nullptr;
  if (found->second.record) fit(found->second, storage);
  return found->second.record;
}

KeptRecords::Record KeptRecords::find_or_make(const StorageOfTensor& storage) {
  Kept& kept = entry(storage);
  if (kept.is_rounded) return nullptr;
  fit(kept, storage);
  if (!kept.record) kept.record = std::make_shared<ExactRecord>(kept.bytes);
  return kept.record;
}

void KeptRecords::round(const StorageOfTensor& storage) {
  Kept& kept = entry(storage);
  kept.is_rounded = true;
  kept.record = nullptr;
}

bool KeptRecords::is_rounded(const StorageOfTensor& storage) const {
  auto found = kept_.find(storage.address());
  return found != kept_.end() && found->second.is_rounded;
}

std::int64_t KeptRecords::nbytes() {
  forget_dead();
  std::int64_t bytes = 0;
  for (const auto& [address, kept] : kept_)
    if (kept.record) bytes += kept.record->nbytes();
  return bytes;
}

// Looks for dead storages before their number or their bytes are half as many as those of living
// ones, unless they are few.
KeptRecords::Kept& KeptRecords::entry(const StorageOfTensor& storage) {
  static PyObject* const weak_reference = name_of("_weak_ref");
  auto found = kept_.find(storage.address());
  if (found != kept_.end()) return found->second;
  if (!storage_type_.is_valid()) storage_type_ = nb::borrow(storage.object().type());
  std::int64_t bytes = storage.bytes();
  new_bytes_ += bytes;
  if (kept_.size() >= next_look_ || new_bytes_ >= next_look_bytes_) {
    constexpr std::size_t few = 256;
    constexpr std::int64_t few_bytes = 1 << 20;
    forget_dead();
    std::int64_t living_bytes = bytes;
    for (const auto& [address, kept] : kept_) living_bytes += kept.bytes;
    next_look_ = std::max(few, kept_.size() * 3 / 2);
    next_look_bytes_ = std::max(few_bytes, living_bytes / 2);
    new_bytes_ = 0;
  }
  auto reference = nb::cast<std::uintptr_t>(called(storage.object(), weak_reference));
  return kept_.emplace(storage.address(), Kept{reference, bytes, nullptr, false}).first->second;
}

void KeptRecords::forget_dead() {
  if (!storage_type_.is_valid()) return;
  nb::object is_expired = storage_type_.attr("_expired"),
             free = storage_type_.attr("_free_weak_ref");
  std::vector<std::uintptr_t> dead;
  for (const auto& [address, kept] : kept_)
    if (nb::cast<bool>(is_expired(kept.reference))) dead.push_back(address);
  for (std::uintptr_t address : dead) {
    auto found = kept_.find(address);
    std::uintptr_t reference = found->second.reference;
    kept_.erase(found);
    free(reference);
  }
}

ExactValues carried_values_of(nb::handle tensor) {
  std::optional<ExactValues> found = values_behind(tensor);
  return found ? *found : ExactValues::of(element_array(tensor));
}

ExactValues arithmetic_values_of(nb::handle tensor) {
  std::optional<ExactValues> found = values_behind(tensor);
  return found && !found->is_root() ? *found : ExactValues::of(element_array(tensor));
}

// Values that are their elements need no record.
void keep_behind(nb::handle tensor, const ExactValues& values) {
  ElementArray array = element_array(tensor);
  if (array.count() == 0 && values.count() == 0) return;
  RoundedValues rounded = RoundedValues::written(array, values);
  StorageOfTensor storage(tensor);
  KeptRecords& records = KeptRecords::all();
  KeptRecords::Record record =
      rounded.are_all_elements() ? records.find(storage) : records.find_or_make(storage);
  if (record) record->keep(elements_in(std::move(array), storage), values, rounded);
}

void drop_behind(nb::handle tensor) {
  StorageOfTensor storage(tensor);
  if (KeptRecords::Record record = KeptRecords::all().find(storage))
    record->drop(bytes_of_storage(tensor));
}

}  // namespace simmesh::python
