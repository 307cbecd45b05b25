#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "replay/read/byte_source.h"

namespace simmesh::replay {

// TraceForm is the form of a file, as its keys tell it.
enum class TraceForm : std::uint8_t {
  execution_trace,  // PyTorch's: an object with "schema"
  timeline,     // Kineto's, or any Chrome trace: an object with "traceEvents", or a list of events
  chakra_json,  // an object with "workload_graph"
  chakra,       // length-prefixed protobuf messages
  other_json,   // whole JSON with other keys
  unknown,      // text that isn't JSON, or ends before a key that tells something
};
// to_string returns the name for messages: "an execution trace".
std::string_view to_string(TraceForm form);

// form_of reads the beginning of a file, unpacked. Keys at the top level tell the form, and of
// those first the ones whose values are lists: metadata may have any other keys, in any order.
TraceForm form_of(std::string_view head);

// form_of looks into a file as far as it needs to, at most 64 MiB, and takes nothing.
TraceForm form_of(ByteSource& source);

// is_of_form is true if a file that a path stands for is to be read as one of some forms. A file in
// a folder or an archive must also be named like a trace: .json or .et, and .gz after it.
bool is_of_form(ByteSource& source, std::string_view path, std::initializer_list<TraceForm> forms);

}  // namespace simmesh::replay
