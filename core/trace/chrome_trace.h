#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/check/call_site.h"
#include "core/trace/trace.h"

namespace simmesh {

// ChromeTrace collects spans on tracks and writes them as Chrome trace JSON, which Perfetto and
// chrome://tracing open. Tracks (threads) are grouped into processes. The text depends on the calls
// only.
//
//   ChromeTrace trace;
//   trace.name_process(3, "rank 3");
//   trace.name_track({3, 0}, "compute");
//   trace.add({.track = {3, 0}, .begin_us = 2, .length_us = 5, .name = "matmul"});
//   std::string json = trace.text();
class ChromeTrace {
 public:
  struct Track {
    std::uint64_t process = 0;
    std::uint64_t thread = 0;
  };

  struct Span {
    Track track;
    double begin_us = 0;
    double length_us = 0;
    std::string_view name;
    CallSite site = {};
    const Event* event = nullptr;  // whose group, sequence and elements are shown
  };

  // Processes are shown in the order of their numbers, and so are the tracks of a process.
  void name_process(std::uint64_t process, std::string_view name);
  void name_track(Track track, std::string_view name);
  void add(const Span& span);
  // note adds a line about the whole trace.
  void note(std::string_view key, std::string_view value);
  void note(std::string_view key, std::uint64_t value);

  std::string text() const;

 private:
  void begin_event();

  std::string events_;
  std::string notes_;
};

// add_events adds the kept events of a run, each as a span on the track 0 of the process of its
// rank. Steps of the schedule are shown as microseconds; the events of one rank in one step share
// it.
void add_events(ChromeTrace& chrome, const Trace& trace);

}  // namespace simmesh
