#include "python/bindings/torch/named_values.h"

#include <fmt/format.h>

namespace nb = nanobind;

namespace simmesh::python {

void NamedValues::add(const nb::dict& names, const nb::object& name) {
  places_.push_back({names, name});
}

nb::list NamedValues::read() const {
  nb::list values;
  for (const Place& place : places_) {
    PyObject* value = PyDict_GetItemWithError(place.names.ptr(), place.name.ptr());
    if (value == nullptr) {
      if (PyErr_Occurred() == nullptr) PyErr_SetObject(PyExc_KeyError, place.name.ptr());
      throw nb::python_error();
    }
    values.append(nb::handle(value));
  }
  return values;
}

void NamedValues::write(const nb::list& values) const {
  if (values.size() != places_.size()) {
    throw nb::value_error(fmt::format("[torch/named_values] expected {} values, got {}",
                                      places_.size(), values.size())
                              .c_str());
  }
  for (std::size_t index = 0; index < places_.size(); ++index) {
    const Place& place = places_[index];
    nb::object value = values[index];
    PyObject* held = PyDict_GetItemWithError(place.names.ptr(), place.name.ptr());
    if (held == value.ptr()) continue;
    if (PyDict_SetItem(place.names.ptr(), place.name.ptr(), value.ptr()) != 0) {
      throw nb::python_error();
    }
  }
}

}  // namespace simmesh::python
