#pragma once

#include <cstddef>
#include <nanobind/nanobind.h>
#include <vector>

namespace simmesh::python {

// NamedValues reads and writes the values of names in dicts, all of them at once. A name whose
// value is there already isn't written. The calls need the GIL.
class NamedValues {
 public:
  void add(const nanobind::dict& names, const nanobind::object& name);

  // read returns the values in the order in which the names were added. Raises KeyError for a name
  // that is gone.
  nanobind::list read() const;

  // write raises ValueError for another number of values.
  void write(const nanobind::list& values) const;

  std::size_t size() const { return places_.size(); }

 private:
  struct Place {
    nanobind::object names, name;
  };

  std::vector<Place> places_;
};

}  // namespace simmesh::python
