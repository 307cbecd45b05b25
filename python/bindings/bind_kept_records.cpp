#include <nanobind/stl/shared_ptr.h>

#include "python/bindings/bindings.h"
#include "python/bindings/torch/kept_records.h"
#include "python/bindings/torch/torch_array.h"

namespace nb = nanobind;

namespace simmesh::python {

void bind_kept_records(nb::module_& module) {
  module.def("carried", &carried_values_of, nb::arg("tensor"),
             "The values that copies and collectives move: exact ones, roots as roots.");
  module.def("exact_operand", &arithmetic_values_of, nb::arg("tensor"),
             "The values that arithmetic reads: exact ones, but the rounded roots of norms.");
  module.def("keep", &keep_behind, nb::arg("tensor"), nb::arg("values"),
             "Rounds values into a tensor and keeps them, unless it belongs to a parameter.");
  module.def("drop", &drop_behind, nb::arg("tensor"),
             "Forgets what stands behind the elements of a tensor.");
  module.def(
      "record_of",
      [](nb::handle tensor) { return KeptRecords::all().find(StorageOfTensor(tensor)); },
      nb::arg("tensor"), "The record of a tensor's storage; None where nothing was kept for it.",
      nb::sig("def record_of(tensor: object) -> Record | None"));
  module.def(
      "record_to_keep",
      [](nb::handle tensor) {
        StorageOfTensor storage(tensor);
        KeptRecords& records = KeptRecords::all();
        return holds_floats(tensor) ? records.find_or_make(storage) : records.find(storage);
      },
      nb::arg("tensor"),
      "The record of a floating tensor's storage, which is made where there is none; None for a\n"
      "parameter's storage. A tensor of another dtype gets no record of its own.",
      nb::sig("def record_to_keep(tensor: object) -> Record | None"));
  module.def(
      "has",
      [](nb::handle tensor) {
        KeptRecords::Record record = KeptRecords::all().find(StorageOfTensor(tensor));
        return record && record->nbytes() != 0;
      },
      nb::arg("tensor"), "True if something may stand behind elements of the tensor's storage.");
  module.def(
      "round_parameter",
      [](nb::handle tensor) { KeptRecords::all().round(StorageOfTensor(tensor)); },
      nb::arg("tensor"), "Lets a parameter's storage carry nothing, from now on.");
  module.def(
      "is_rounded",
      [](nb::handle tensor) { return KeptRecords::all().is_rounded(StorageOfTensor(tensor)); },
      nb::arg("tensor"), "True for elements of a storage that round_parameter got.");
  module.def(
      "kept_nbytes", [] { return KeptRecords::all().nbytes(); }, "The bytes of all records.");
}

}  // namespace simmesh::python
