#include "python/bindings/torch/cache_layout.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// An entry of a cache. The list of entries and the dict hold a reference each.
struct Link {
  PyObject_HEAD  // NOLINT
      Link* previous;
  Link* next;
  Py_hash_t hash;
  PyObject* key;
  PyObject* result;
};

struct Cache {
  Link root;
  PyObject* (*wrapper)(Cache*, PyObject*, PyObject*);
  int typed;
  PyObject* cache;
  Py_ssize_t hits;
  PyObject* function;
  Py_ssize_t maxsize;
};

// The class of entries, which has no name in Python; known once a cache has had an entry.
nb::object& link_type() {
  static auto* type = new nb::object();  // outlives the interpreter
  return *type;
}

Cache* layout_of(PyObject* function) { return reinterpret_cast<Cache*>(function); }

// Makes an entry the newest one. The dict and the list hold a reference each.
void append(Cache* cache, PyObject* key, PyObject* result) {
  auto* type = reinterpret_cast<PyTypeObject*>(link_type().ptr());
  Link* link = PyObject_New(Link, type);
  if (link == nullptr) throw nb::python_error();
  auto* object = reinterpret_cast<PyObject*>(link);
  link->hash = PyObject_Hash(key);
  link->key = Py_NewRef(key);
  link->result = Py_NewRef(result);
  if (PyDict_SetItem(cache->cache, key, object) != 0) {
    Py_DECREF(object);
    throw nb::python_error();
  }
  Link* last = cache->root.previous;
  last->next = cache->root.previous = link;
  link->previous = last;
  link->next = &cache->root;
}

}  // namespace

PyObject* CacheLayout::cache_of(PyObject* function) {
  if (static_cast<std::size_t>(Py_TYPE(function)->tp_basicsize) < sizeof(Cache)) return nullptr;
  nb::object referents = nb::module_::import_("gc").attr("get_referents")(nb::handle(function));
  PyObject* cache = layout_of(function)->cache;
  for (nb::handle each : referents) {
    if (each.ptr() == cache && PyDict_CheckExact(cache)) return cache;
  }
  return nullptr;
}

bool CacheLayout::is_bounded(PyObject* function) { return layout_of(function)->maxsize >= 0; }

std::vector<nb::object> CacheLayout::entries_of(PyObject* function) {
  std::vector<nb::object> entries;
  Link& root = layout_of(function)->root;
  for (Link* link = root.next; link != &root; link = link->next) {
    link_type() = nb::borrow<nb::object>(reinterpret_cast<PyObject*>(Py_TYPE(link)));
    entries.push_back(nb::borrow<nb::object>(link->key));
    entries.push_back(nb::borrow<nb::object>(link->result));
  }
  return entries;
}

void CacheLayout::set_entries(PyObject* function, const std::vector<nb::object>& entries) {
  Cache* cache = layout_of(function);
  // Keys and results live on until the cache is whole again, since their ends may call it.
  std::vector<nb::object> before = entries_of(function);
  Link* old = cache->root.next;
  cache->root.previous = cache->root.next = &cache->root;
  PyDict_Clear(cache->cache);
  while (old != &cache->root) {
    Link* next = old->next;
    Py_DECREF(reinterpret_cast<PyObject*>(old));
    old = next;
  }
  for (std::size_t at = 0; at < entries.size(); at += 2) {
    append(cache, entries[at].ptr(), entries[at + 1].ptr());
  }
}

}  // namespace simmesh::python
