#include "python/bindings/python_site.h"

#include <algorithm>
#include <nanobind/nanobind.h>
#include <unordered_map>

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// The file of a function's code, which stays alive with it.
struct CodeFile {
  const char* name;
  bool is_internal;
};

// Code that is kept from run to run, though a program may make it anew in each.
constexpr std::size_t codes_max = 10'000;

struct KnownFiles {
  std::vector<std::string> internal;
  std::unordered_map<PyCodeObject*, CodeFile> by_code;
};

// Never destroyed: it holds Python objects, and Python may have ended before.
KnownFiles& known_files() {
  static auto* files = new KnownFiles();
  return *files;
}

thread_local CallSite site_of_thread;

const CodeFile& file_of(PyCodeObject* code) {
  KnownFiles& known = known_files();
  auto found = known.by_code.find(code);
  if (found != known.by_code.end()) return found->second;
  std::string name = nb::cast<std::string>(nb::handle(code->co_filename));
  bool is_internal =
      name.rfind("<frozen", 0) == 0 ||
      std::any_of(known.internal.begin(), known.internal.end(),
                  [&](const std::string& prefix) { return name.rfind(prefix, 0) == 0; });
  Py_INCREF(code);
  return known.by_code.emplace(code, CodeFile{site_in(name, 0).file, is_internal}).first->second;
}

}  // namespace

CallSite python_site() {
  auto frame = nb::borrow<nb::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid()) {
    auto* at = reinterpret_cast<PyFrameObject*>(frame.ptr());
    auto code = nb::steal<nb::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    const CodeFile& file = file_of(reinterpret_cast<PyCodeObject*>(code.ptr()));
    auto outer = nb::steal<nb::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
    // Python derives a frame's line from a table, so it is asked only for the line of the frame
    // that is named.
    if (!file.is_internal || !outer.is_valid()) {
      bool is_unknown = file.is_internal && site_of_thread.line != 0;
      return is_unknown ? site_of_thread : CallSite{file.name, PyFrame_GetLineNumber(at)};
    }
    frame = std::move(outer);
  }
  return {};
}

void set_site_of_thread(const CallSite& site) { site_of_thread = site; }

CallSite site_of_traceback(nb::handle traceback) {
  CallSite site, outermost;
  for (nb::object at = nb::borrow(traceback); at.is_valid() && !at.is_none();
       at = at.attr("tb_next")) {
    nb::object code = at.attr("tb_frame").attr("f_code");
    const CodeFile& file = file_of(reinterpret_cast<PyCodeObject*>(code.ptr()));
    outermost = {file.name, nb::cast<int>(at.attr("tb_lineno"))};
    if (!file.is_internal) site = outermost;
  }
  return site.line == 0 ? outermost : site;
}

void set_internal_files(std::vector<std::string> prefixes) {
  KnownFiles& known = known_files();
  // Every run sets them, and to look at the files of all code anew takes as long as much of it.
  if (known.internal == prefixes && known.by_code.size() < codes_max) return;
  known.internal = std::move(prefixes);
  for (auto& [code, file] : known.by_code) Py_DECREF(code);
  known.by_code.clear();
}

}  // namespace simmesh::python
