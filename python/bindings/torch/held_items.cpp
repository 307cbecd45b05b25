#include "python/bindings/torch/held_items.h"

#include <algorithm>

namespace nb = nanobind;

namespace simmesh::python {

bool list_holds(PyObject* list, const std::vector<nb::object>& items) {
  PyObject** held = reinterpret_cast<PyListObject*>(list)->ob_item;
  return static_cast<std::size_t>(Py_SIZE(list)) == items.size() &&
         std::equal(items.begin(), items.end(), held,
                    [](const nb::object& item, PyObject* other) { return item.ptr() == other; });
}

bool set_holds(PyObject* set, const std::vector<nb::object>& items) {
  auto* table = reinterpret_cast<PySetObject*>(set);
  if (static_cast<std::size_t>(table->used) != items.size()) return false;
  // The place of an item that was removed has a hash that no object has.
  constexpr Py_hash_t no_hash = -1;
  std::size_t count = 0;
  for (Py_ssize_t place = 0; place <= table->mask && count < items.size(); ++place) {
    const setentry& entry = table->table[place];
    if (entry.key == nullptr || entry.hash == no_hash) continue;
    if (entry.key != items[count].ptr()) return false;
    ++count;
  }
  return true;
}

bool dict_holds(PyObject* dict, const std::vector<nb::object>& items) {
  if (static_cast<std::size_t>(PyDict_GET_SIZE(dict)) * 2 != items.size()) return false;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  for (std::size_t place = 0; PyDict_Next(dict, &position, &key, &value) != 0; place += 2) {
    if (items[place].ptr() != key || items[place + 1].ptr() != value) return false;
  }
  return true;
}

bool are_identical(const std::vector<nb::object>& these, const std::vector<nb::object>& those) {
  return std::equal(these.begin(), these.end(), those.begin(), those.end(),
                    [](const nb::object& one, const nb::object& other) { return one.is(other); });
}

}  // namespace simmesh::python
