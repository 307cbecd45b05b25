#pragma once

#include <gsl/span>
#include <string>
#include <vector>

#include "core/page/report_page.h"
#include "gate/file.h"
#include "gate/records/gate_records.h"
#include "gate/result.h"

namespace simmesh {

// gate_entry returns the part of a report that shows a gate: its checks, a failure, the mesh, the
// collectives, the schedules that were tried, and what was recorded.
ReportEntry gate_entry(const GateFile& gate, const GateResult& result, const GateRecords& records);

// gate_mesh_section returns the mesh of a gate, and says which dim is for which parallelism.
JsonValue gate_mesh_section(const GateFile& gate);

// schedules_section returns the table of the schedules that were tried.
JsonValue schedules_section(const GateRecords& records);

// ReportedGate is a gate that was run for a report.
struct ReportedGate {
  const GateFile& gate;
  const GateResult& result;
  const GateRecords& records;
};

// gates_report returns the report of `simmesh run`. command is the line that makes it again.
PageReport gates_report(gsl::span<const ReportedGate> gates, const std::string& command);

}  // namespace simmesh
