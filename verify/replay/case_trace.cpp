#include "verify/replay/case_trace.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace simmesh {

schema::Fields trace_file_fields() {
  using namespace schema;
  return {required("file", text()).unless("files"),
          required("files", list(text(), {.min = 1})).unless("file")};
}

std::vector<std::string> case_trace_paths(const RecordedCase& recorded) {
  std::filesystem::path folder = std::filesystem::path(recorded.place().file).parent_path();
  std::vector<std::string> files;
  if (auto file = recorded.find("file"))
    files.push_back(file->text());
  else
    files = recorded["files"].texts();
  for (std::string& file : files) file = folder / file;
  return files;
}

replay::TraceJob read_case_job(const RecordedCase& recorded, std::size_t ranks) {
  replay::TraceJob job =
      replay::read_job(case_trace_paths(recorded), replay::OperatorLabels::are_left_alone);
  const char* field = recorded.has("file") ? "file" : "files";
  if (!job.findings.empty())
    recorded[field].reject(
        fmt::format("traces that can be read ({})", replay::to_string(job.findings.front())));
  if (job.ranks.size() != ranks)
    recorded[field].reject(
        fmt::format("traces of {} ranks, of which there are {}", ranks, job.ranks.size()));
  return job;
}

nlohmann::json json_of(const JsonValue& value) { return nlohmann::json::parse(value.text()); }

}  // namespace simmesh
