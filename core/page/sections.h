#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/json_value.h"

namespace simmesh {

// Sections are the parts of an entry of a report, as data for report_page. Each function here makes
// one kind; TimelineSection makes another.

// PageCheck is a check with what it expected and what came.
struct PageCheck {
  std::string name;
  bool passed = false;
  std::string expected;
  std::string actual;
};

// checks_section is a table of checks. The command that reproduces a failure stands below it, if
// there is one.
JsonValue checks_section(const std::vector<PageCheck>& checks, const std::string& reproduce = {});

// table_section is a table whose rows have a value for each column; "pass" and "FAIL" are shown as
// verdicts. A line above says what the rows are.
JsonValue table_section(const std::string& title, const std::vector<std::string>& columns,
                        JsonValue::List rows, const std::string& about = {});

// text_section is text as it is, with its lines.
JsonValue text_section(const std::string& title, const std::string& text);

// failure_section is the report of a failed run, as report(Outcome) returns it: the page shows what
// each rank was doing as a table.
JsonValue failure_section(const std::string& title, const std::string& report);

// mesh_section is a mesh whose groups are stepped through, dim by dim. uses says for what a dim is
// used; empty for nothing.
JsonValue mesh_section(const std::vector<std::int64_t>& shape,
                       const std::vector<std::string>& names, const std::vector<std::string>& uses);

// fault_section is the first place at which two results differ.
struct PageFault {
  std::string title;
  std::string where;
  std::string expected;
  std::string actual;
};
JsonValue fault_section(const PageFault& fault);

// PageCurve is bytes over time in some categories: those of one rank, or of several equal ones.
struct PageCurve {
  std::string title;
  std::vector<std::int64_t> at;                  // ascending
  std::vector<std::vector<std::int64_t>> bytes;  // by category, then by place in `at`
};
// memory_section shows curves, one at a time. Stacked ones are parts of a whole.
struct PageCurves {
  std::string title = "Memory over time, by category";
  std::string unit;  // of `at`: "operation"
  bool stacked = true;
  std::vector<std::string> categories;
  std::vector<PageCurve> curves;
};
JsonValue memory_section(const PageCurves& curves);

// matrices_section shows matrices of numbers as shades, one at a time.
struct PageMatrix {
  std::string title;
  std::vector<std::string> members;              // of rows and columns
  std::vector<std::vector<std::int64_t>> cells;  // by row
  std::string unit = "bytes";
};
JsonValue matrices_section(const std::string& title, const std::vector<PageMatrix>& matrices);

}  // namespace simmesh
