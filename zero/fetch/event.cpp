#include "zero/fetch/event.h"

#include <fmt/core.h>

#include "zero/fetch/pretty.h"

namespace simmesh::zero {

namespace {

template <class Ids>
std::string listed(const char* what, const Ids& ids) {
  std::string text = what;
  for (std::size_t i = 0; i < ids.size(); ++i) text += fmt::format("{}{}", i ? ", " : " ", ids[i]);
  return ids.empty() ? fmt::format("no {}", what) : text;
}

// Describes an event besides its kind and step.
std::string details(const Event& event) {
  std::string pass(to_string(event.pass));
  std::string available = pretty_count(event.available) + " elements available";
  switch (event.kind) {
    case EventKind::reset:
      return fmt::format("{}, {} modules recorded", to_string(event.mode),
                         pretty_count(event.order_length));
    case EventKind::enter:
      return fmt::format("module {} {}, {}, {}", event.module, pass, to_string(event.mode),
                         available);
    case EventKind::entered:
      return fmt::format("module {}, {}, {} queued", event.module, available,
                         pretty_count(event.queue_length));
    case EventKind::leave: return fmt::format("module {} {}", event.module, pass);
    case EventKind::left: return fmt::format("module {}, {}", event.module, available);
    case EventKind::fetch:
    case EventKind::prefetch:
    case EventKind::wait:
    case EventKind::blocking:
    case EventKind::release:
    case EventKind::gradient: return listed("parameters", event.params);
    case EventKind::external:
      return fmt::format("module {}, {}", event.module, listed("parameters", event.params));
    case EventKind::leftovers: return listed("modules", event.modules);
    case EventKind::copy_out: return pretty_bytes(event.bytes) + " gathered";
    case EventKind::collective: {
      std::string ranks = event.ranks.empty() ? "" : ", " + listed("ranks", event.ranks);
      return fmt::format("{} of {} elements of {}{}", event.name, pretty_count(event.numel),
                         event.dtype, ranks);
    }
    default: return "";
  }
}

}  // namespace

std::string_view to_string(TraceMode mode) {
  static constexpr std::string_view names[] = {"INVALID", "RECORD", "COMPLETE"};
  return std::size_t(mode) < std::size(names) ? names[std::size_t(mode)] : "unknown";
}

std::string_view to_string(EventKind kind) {
  static constexpr std::string_view names[] = {
      "reset",    "enter",     "fetch",    "prefetch",      "wait", "copy_out",
      "blocking", "entered",   "leave",    "release",       "left", "invalidate",
      "external", "leftovers", "gradient", "gradients_end", "step", "collective"};
  return std::size_t(kind) < std::size(names) ? names[std::size_t(kind)] : "unknown";
}

std::string to_string(const Event& event) {
  std::string text = fmt::format("{} at step {}", to_string(event.kind), event.step);
  std::string more = details(event);
  return more.empty() ? text : text + ": " + more;
}

}  // namespace simmesh::zero
