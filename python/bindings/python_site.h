#pragma once

#include <nanobind/nanobind.h>
#include <string>
#include <vector>

#include "core/check/call_site.h"

namespace simmesh::python {

// python_site returns the place in the Python program that is being run: that of the innermost call
// in a file that isn't internal, else of the outermost one. The caller holds the interpreter lock.
CallSite python_site();

// set_site_of_thread sets the place that python_site returns where all calls of this thread are in
// internal files: where the program started it.
void set_site_of_thread(const CallSite& site);

// site_of_traceback returns the place at which an exception's traceback ends, by the same rule.
CallSite site_of_traceback(nanobind::handle traceback);

// set_internal_files sets which files belong to libraries that call on behalf of their user: those
// whose path begins with one of the prefixes.
void set_internal_files(std::vector<std::string> prefixes);

}  // namespace simmesh::python
