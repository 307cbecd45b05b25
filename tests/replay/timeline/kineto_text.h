#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <string_view>
#include <vector>

#include "replay/timeline/kineto_rank.h"
#include "replay/timeline/read_timeline.h"

namespace simmesh::testing {

// EventText is an event as PyTorch's profiler writes it; the texts are JSON.
struct EventText {
  std::string category = "kernel";
  std::string name = "gemm";
  std::string begin = "0";
  std::string length = "1";
  std::string process = "0";
  std::string thread = "7";
  std::string arguments = {};
};

inline std::string event_json(const EventText& event) {
  return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, )"
                     R"("dur": {}, "args": {{{}}}}})",
                     event.category, event.name, event.process, event.thread, event.begin,
                     event.length, event.arguments);
}

// kineto_text returns a file with these events; `more` is before them and ends with a comma.
inline std::string kineto_text(const std::vector<EventText>& events, std::string_view more = "") {
  std::vector<std::string> texts;
  for (const EventText& event : events) texts.push_back(event_json(event));
  return fmt::format(R"({{"schemaVersion": 1, {} "traceEvents": [{}], "traceName": "x"}})", more,
                     fmt::join(texts, ",\n"));
}

inline replay::JobTimeline timeline_from(std::string_view text,
                                         const std::string& name = "trace.json") {
  replay::TextSource source(name, text);
  return replay::read_timeline(source);
}

inline EventText nccl_kernel(std::string begin, std::string length, std::string arguments) {
  return {.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
          .begin = std::move(begin),
          .length = std::move(length),
          .thread = "20",
          .arguments = std::move(arguments)};
}

// comm_arguments are those that a kernel of NCCL has since PyTorch 2.3.
inline std::string comm_arguments(std::string_view name, std::string_view group,
                                  std::string_view ranks, std::int64_t size) {
  return fmt::format(
      R"("stream": 20, "Collective name": "{}", "In msg nelems": 100, "Out msg nelems": 200, )"
      R"("Group size": {}, "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", )"
      R"("Process Group Name": "{}", "Process Group Description": "tp", )"
      R"("Process Group Ranks": "{}", "Rank": 1)",
      name, size, group, ranks);
}

}  // namespace simmesh::testing
