#pragma once

#include <nanobind/nanobind.h>
#include <vector>

namespace simmesh::python {

// CacheLayout reads and writes what a cache of functools.lru_cache keeps. Python has no call for
// that, so this knows the C object behind it, as CPython has had it since 3.8.
class CacheLayout {
 public:
  // cache_of returns the dict of a cache (borrowed), or null if the object looks otherwise.
  static PyObject* cache_of(PyObject* function);

  // is_bounded tells if the cache keeps the order of its entries, in order to forget old ones.
  static bool is_bounded(PyObject* function);

  // entries_of returns the keys and results of a bounded cache in turn, the oldest first.
  static std::vector<nanobind::object> entries_of(PyObject* function);

  // set_entries replaces the entries of a bounded cache by some that it had before.
  static void set_entries(PyObject* function, const std::vector<nanobind::object>& entries);
};

}  // namespace simmesh::python
