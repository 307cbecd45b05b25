#include "verify/replay/case_timeline.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "replay/analysis/bandwidth.h"
#include "replay/timeline/read_timeline.h"

namespace simmesh {

replay::JobTimeline read_case_timeline(const RecordedCase& recorded,
                                       gsl::span<const std::string> paths) {
  replay::JobTimeline job;
  try {
    job = replay::read_timelines(paths);
  } catch (const Error& error) {
    recorded[recorded.has("file") ? "file" : "files"].reject(
        fmt::format("timelines that can be read ({})", error.what()));
  }
  for (replay::RankTimeline& rank : job.ranks)
    for (replay::TimelineComm& comm : rank.comms) {
      comm.group = std::nullopt;
      comm.comms_id.clear();
    }
  return job;
}

nlohmann::json in_nanoseconds(const nlohmann::json& value) {
  if (value.is_number_float()) return replay::rounded(value.get<double>(), 3);
  if (!value.is_structured()) return value;
  nlohmann::json result = value;
  for (nlohmann::json& entry : result) entry = in_nanoseconds(entry);
  return result;
}

}  // namespace simmesh
