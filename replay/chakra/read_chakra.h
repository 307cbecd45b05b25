#pragma once

#include <cstdint>
#include <string>

#include "replay/chakra/chakra_trace.h"
#include "replay/read/byte_source.h"

namespace simmesh::replay {

// chakra_message_bytes_max bounds one message of the protobuf form.
inline constexpr std::int64_t chakra_message_bytes_max = std::int64_t(64) << 20;

// read_chakra reads a trace of Chakra in its protobuf form: messages, each after its length as a
// varint, the first of which is the metadata. Fields that the schema doesn't name are skipped.
// Raises a BadTrace for a length that is no number or too large ("chakra_length"), for a file that
// ends within a message ("chakra_cut"), and for bytes that are no message ("chakra_message").
ChakraTrace read_chakra(ByteSource& source);

// read_chakra_json reads its flat JSON form: an object with a list "workload_graph" of nodes with
// "Id", "Name", "NodeType" and "data_deps"; all other fields of a node become attributes. Raises a
// BadTrace for text that isn't JSON ("json") and for another object ("top_level"), and for a node
// without required fields ("node_fields").
ChakraTrace read_chakra_json(ByteSource& source);

}  // namespace simmesh::replay
