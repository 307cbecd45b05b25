#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "replay/read/byte_source.h"

namespace simmesh::replay {

// TraceForm is the form of a file, as far as its first bytes tell.
enum class TraceForm : std::uint8_t {
  execution_trace,  // PyTorch's: an object with "schema"
  timeline,     // Kineto's, or any Chrome trace: an object with "traceEvents", or its other keys
  chakra_json,  // an object with "workload_graph"
  chakra,       // length-prefixed protobuf messages
  unknown,
};
// to_string returns the name for messages: "an execution trace".
std::string_view to_string(TraceForm form);

// form_of reads the first bytes of a file, unpacked.
TraceForm form_of(std::string_view head);

// is_of_form is true if a file that a path stands for is to be read as one of some forms: always if
// the file itself was named; in a folder or an archive if it is JSON and looks like one.
bool is_of_form(ByteSource& source, std::string_view path, std::initializer_list<TraceForm> forms);

}  // namespace simmesh::replay
