#pragma once

#include <cstdint>
#include <string_view>

#include "core/check/call_site.h"

namespace simmesh {

// EventKind says what happened.
enum class EventKind : std::uint8_t {
  arrive,    // a rank joined a collective
  complete,  // the last rank arrived and the result exists
  send,      // a message was handed over
  receive,   // a receive was posted
  match,     // a message and a receive met
  yield,     // a rank let others run
  fault,     // the fault plan acted
  finish,    // a rank's body returned
};
// to_string returns the enumerator's name.
std::string_view to_string(EventKind kind);

// Event is the one record that all layers write. Words it doesn't need stay zero.
struct Event {
  std::uint64_t step = 0;  // of the schedule
  std::uint32_t rank = 0;
  EventKind kind = EventKind::arrive;
  const char* operation = "";  // a literal, for instance "all_reduce"
  std::uint32_t group = 0;     // id of the group within the run
  std::uint32_t sequence = 0;  // of the operation within its group
  std::int64_t elements = 0;
  CallSite site;
};

}  // namespace simmesh
