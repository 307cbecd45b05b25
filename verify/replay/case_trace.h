#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/check/json_value.h"
#include "replay/job/trace_job.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// trace_file_fields are "file" (one file or archive of all ranks) or "files" (one for each rank),
// relative to the folder of the case.
schema::Fields trace_file_fields();

// case_trace_paths returns the paths of these files.
std::vector<std::string> case_trace_paths(const RecordedCase& recorded);

// read_case_job reads the traces of a case. Raises a BadCase where some of `ranks` have none, or
// one of them can't be read.
replay::TraceJob read_case_job(const RecordedCase& recorded, std::size_t ranks);

// json_of returns a value of the library in the form in which it is recorded.
nlohmann::json json_of(const JsonValue& value);

}  // namespace simmesh
