#include "core/trace/chrome_trace.h"

#include <fmt/format.h>

#include "core/check/append_text.h"

namespace simmesh {

namespace {

// Escapes what JSON can't hold as it is, and bytes outside ASCII, which may not be UTF-8.
std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (char letter : text) {
    if (letter == '"' || letter == '\\')
      result += {'\\', letter};
    else if (letter == '\n')
      result += "\\n";
    else
      result += letter < ' ' || letter > '~' ? '?' : letter;
  }
  return result + "\"";
}

}  // namespace

void ChromeTrace::begin_event() { append_text(events_, "{}\n", events_.empty() ? "" : ","); }

void ChromeTrace::name_process(std::uint64_t process, std::string_view name) {
  begin_event();
  append_text(events_, R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}},)",
              process, json_text(name));
  append_text(events_, "\n");
  append_text(events_,
              R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
              process, process);
}

void ChromeTrace::name_track(Track track, std::string_view name) {
  begin_event();
  append_text(events_,
              R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}},)",
              track.process, track.thread, json_text(name));
  append_text(events_, "\n");
  append_text(
      events_,
      R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
      track.process, track.thread, track.thread);
}

void ChromeTrace::add(const Span& span) {
  begin_event();
  append_text(events_, R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"args":{{)",
              span.track.process, span.track.thread, span.begin_us, span.length_us,
              json_text(span.name));
  if (span.event)
    append_text(events_, R"("group":{},"sequence":{},"elements":{})", span.event->group,
                span.event->sequence, span.event->elements);
  if (span.site.line > 0)
    append_text(events_, R"({}"site":{})", span.event ? "," : "", json_text(to_string(span.site)));
  append_text(events_, "}}}}");
}

void ChromeTrace::note(std::string_view key, std::string_view value) {
  append_text(notes_, "{}\n{}:{}", notes_.empty() ? "" : ",", json_text(key), json_text(value));
}

void ChromeTrace::note(std::string_view key, std::uint64_t value) {
  append_text(notes_, "{}\n{}:{}", notes_.empty() ? "" : ",", json_text(key), value);
}

std::string ChromeTrace::text() const {
  return fmt::format("{{\"traceEvents\":[{}\n],\n\"otherData\":{{{}\n}}}}\n", events_, notes_);
}

void add_events(ChromeTrace& chrome, const Trace& trace) {
  for (std::size_t first = 0, end = 0; first < trace.size(); first = end) {
    const Event& event = trace[first];
    while (end < trace.size() && trace[end].rank == event.rank && trace[end].step == event.step)
      ++end;
    double share = 1.0 / double(end - first);
    for (std::size_t i = first; i < end; ++i) {
      std::string name(to_string(trace[i].kind));
      if (*trace[i].operation != '\0') name = fmt::format("{} {}", name, trace[i].operation);
      chrome.add({.track = {event.rank, 0},
                  .begin_us = double(event.step) + share * double(i - first),
                  .length_us = share,
                  .name = name,
                  .site = trace[i].site,
                  .event = &trace[i]});
    }
  }
}

}  // namespace simmesh
