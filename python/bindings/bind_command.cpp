#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/bindings.h"
#include "tools/command.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

int command(std::vector<std::string> arguments) {
  std::vector<char*> argv = {const_cast<char*>("simmesh")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return run_command(int(argv.size()) - 1, argv.data());
}

}  // namespace

void bind_command(nb::module_& module) {
  module.def("command", &command, "arguments"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Runs the program `simmesh` with these arguments, as on a command line, and returns "
             "its exit\nstatus. Ctrl-C then ends the command, and stays its business afterwards.");
  module.def(
      "report_page", &page_of_data, "data"_a,
      "Returns the page of a report, which needs no other file, for its data as JSON: an object "
      "with\ntitle, summary, passed and entries. Raises ValueError for another text.");
}

}  // namespace simmesh::python
