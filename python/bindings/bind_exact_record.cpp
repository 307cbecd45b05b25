#include <nanobind/stl/optional.h>

#include "core/arithmetic/companions/exact_record.h"
#include "python/bindings/bindings.h"
#include "python/bindings/torch/kept_records.h"

namespace nb = nanobind;

namespace simmesh::python {

void bind_exact_record(nb::module_& module) {
  nb::class_<ExactRecord>(
      module, "Record",
      "The exact values behind the elements of one storage. A value counts only while its element\n"
      "has the bits that were written with it, so whoever else writes ends it.")
      .def(nb::init<std::int64_t>(), nb::arg("storage_bytes"))
      .def(
          "read",
          [](const ExactRecord& self, nb::handle tensor) {
            return self.read(elements_of_storage(tensor));
          },
          nb::arg("tensor"), "The values of the elements; None where nothing stands behind any.")
      .def(
          "write",
          [](ExactRecord& self, nb::handle tensor, const ExactValues& values) {
            self.write(elements_of_storage(tensor), values);
          },
          nb::arg("tensor"), nb::arg("values"),
          "Rounds values into the elements, and keeps those that aren't their elements.")
      .def(
          "keep",
          [](ExactRecord& self, nb::handle tensor, const ExactValues& values) {
            self.keep(elements_of_storage(tensor), values);
          },
          nb::arg("tensor"), nb::arg("values"),
          "Keeps values behind elements that are written already, but for those whose bits are\n"
          "others.")
      .def(
          "drop", [](ExactRecord& self, nb::handle tensor) { self.drop(bytes_of_storage(tensor)); },
          nb::arg("tensor"), "Ends what stands behind the elements, of any dtype.")
      .def_prop_ro("nbytes", &ExactRecord::nbytes);
}

}  // namespace simmesh::python
