#pragma once

#include <nanobind/nanobind.h>
#include <vector>

namespace simmesh::python {

// These tell if a container of Python holds exactly these items, compared by their identity. They
// make nothing, so that they can be asked at every switch. A dict's items are its keys and values
// in turn; a set's are in the order in which Python gives them.
bool list_holds(PyObject* list, const std::vector<nanobind::object>& items);
bool set_holds(PyObject* set, const std::vector<nanobind::object>& items);
bool dict_holds(PyObject* dict, const std::vector<nanobind::object>& items);
bool are_identical(const std::vector<nanobind::object>& these,
                   const std::vector<nanobind::object>& those);

}  // namespace simmesh::python
