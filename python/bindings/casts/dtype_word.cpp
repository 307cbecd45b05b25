#include "python/bindings/casts/dtype_word.h"

namespace simmesh::python {

namespace nb = nanobind;

DType dtype_of_word(const DTypeWord& word) {
  if (const auto* name = std::get_if<std::string>(&word)) return dtype_from_string(*name);
  const nb::object& object = std::get<nb::object>(word);
  // A NumPy type has a name; PyTorch's dtypes only print theirs.
  bool is_named = nb::hasattr(object, "__name__");
  std::string name = nb::cast<std::string>(is_named ? object.attr("__name__") : nb::str(object));
  return dtype_from_string(name.substr(name.rfind('.') + 1));
}

}  // namespace simmesh::python
