#include "python/bindings/bindings.h"
#include "python/bindings/torch/named_values.h"
#include "python/bindings/torch/own_contents.h"

namespace nb = nanobind;

namespace simmesh::python {

void bind_own_contents(nb::module_& module) {
  nb::class_<OwnContents>(
      module, "OwnContents",
      "Containers of Python whose contents each rank has for itself: modules, classes, dicts,\n"
      "lists, sets, deques, cells and caches. They are swapped in place.")
      .def(nb::init<>())
      .def("add", &OwnContents::add, nb::arg("container"),
           "Watches a container. False for one that is watched, and for other objects.")
      .def("begin", &OwnContents::begin, "Makes what the containers hold that of every rank.")
      .def("keep", &OwnContents::keep, "Keeps what changed for the rank that is loaded.")
      .def("switch_to", &OwnContents::switch_to, nb::arg("rank"),
           "Keeps what changed for the rank that is loaded, and loads another one; -1 is the host.")
      .def("adopt", &OwnContents::adopt,
           "Lets all ranks have what changed since the last look, as by an import.")
      .def("has_changed", &OwnContents::has_changed, "True if something changed since then.")
      .def("own_count", &OwnContents::own_count, nb::arg("rank"),
           "The number of containers whose contents a rank has for itself.")
      .def("__len__", &OwnContents::size);
  nb::class_<NamedValues>(module, "NamedValues", "The values of names in dicts, all at once.")
      .def(nb::init<>())
      .def("add", &NamedValues::add, nb::arg("names"), nb::arg("name"), "Adds a name of a dict.")
      .def("read", &NamedValues::read, "The values, in the order in which names were added.")
      .def("write", &NamedValues::write, nb::arg("values"), "Gives the names these values.")
      .def("__len__", &NamedValues::size);
}

}  // namespace simmesh::python
