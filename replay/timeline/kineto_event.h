#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>

#include "replay/read/json_stream.h"
#include "replay/read/json_value_reader.h"
#include "replay/timeline/kineto_comm.h"

namespace simmesh::replay {

// KinetoCategory is the kind of a profiler's event.
enum class KinetoCategory : std::uint8_t {
  other,
  operation,   // "cpu_op": an operator on the host
  runtime,     // "cuda_runtime", "cuda_driver": a call that launches work
  annotation,  // "user_annotation": a range that the program named
  device_annotation,
  kernel,
  copy,  // "gpu_memcpy", "gpu_memset"
};

// KinetoEvent is an entry of "traceEvents". Texts are valid until the reader's next event.
struct KinetoEvent {
  KinetoCategory category = KinetoCategory::other;
  std::string_view name;
  std::string process;
  std::string thread;
  std::int64_t begin_ns = 0;
  std::int64_t length_ns = 0;
  std::optional<std::int64_t> stream;
  std::optional<std::int64_t> correlation;  // equal for a kernel and the call that launched it
  std::int64_t bytes = 0;
  std::int64_t external_id = 0;
  std::int64_t event_index = -1;
  std::int64_t record_function = 0;
  KinetoComm comm;
};

// is_host_communication is true for the name of an annotation on the host that is a communication
// itself: "gloo:all_reduce". Those of NCCL, "nccl:all_reduce", stand around kernels, which are.
bool is_host_communication(std::string_view name);

// KinetoEventReader reads the events of one file one after another.
class KinetoEventReader {
 public:
  // read reads an event, and returns whether it is a complete one (phase "X") of a known category;
  // a timeline needs no others, such as arrows and names of threads. One that never ended, which
  // profilers write with a length below 0, is counted and left out. Raises a JsonFault for text
  // that can't be read, and a BadEvent for an event without name, time or length.
  bool read(JsonPiece piece, KinetoEvent& event);

  const JsonRepairs& repairs() const { return values_.repairs(); }
  std::int64_t unfinished() const { return unfinished_; }
  // other_categories counts complete events of categories that no part of a report knows.
  const std::map<std::string, std::size_t>& other_categories() const { return other_categories_; }

 private:
  JsonValueReader values_;
  std::int64_t unfinished_ = 0;
  std::map<std::string, std::size_t> other_categories_;
};

// BadEvent describes what is wrong with an event.
struct BadEvent {
  std::string message;
};

// number_text returns the text of a number at the top level of an object of valid JSON; empty where
// the object hasn't that key.
std::string_view number_text(std::string_view object, std::string_view key);

// nanoseconds_of reads a number of microseconds, such as "1694128201426602" or "12.345", as exact
// nanoseconds, halves rounded up; nullopt for other text and beyond the year 2096.
std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

}  // namespace simmesh::replay
