#include <nanobind/stl/string.h>

#include "core/findings/judged_checks.h"
#include "python/bindings/bindings.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

void bind_findings(nb::module_& module) {
  module.def("expect_findings_file", &expect_findings_file, "path"_a,
             "Raises ValueError for a file that doesn't end in .jsonl, .sarif or .xml, and for one "
             "that can't be\nwritten.");
  module.def(
      "write_findings",
      [](const std::string& path, const std::string& checks) {
        write_findings(path, judged_checks_from(checks));
      },
      "path"_a, "checks"_a,
      "Writes checks, a list in JSON, as lines of JSON, as SARIF or as JUnit's XML, by the ending "
      "of the file.");
  module.def(
      "finding_from_report",
      [](const std::string& rule, const std::string& report) {
        return to_json(finding_from_report(rule, report)).text_utf8();
      },
      "rule"_a, "report"_a,
      "Returns the finding that a report tells of as JSON: its rank and place, what was expected, "
      "what came,\nand the line that reproduces it. An empty rule is the one that the report "
      "begins "
      "with.");
}

}  // namespace simmesh::python
