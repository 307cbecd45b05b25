#pragma once

#include <cstdint>
#include <gsl/span>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/chakra/chakra_trace.h"

namespace simmesh::replay {

// ChakraLayout is the schema in which the nodes of a file were written. Before October 2023 its
// fields were others, files had no metadata or another form of it, and the only dependencies were
// parents, which ordered execution.
enum class ChakraLayout : std::uint8_t {
  current,
  may_2023,   // a field of a node for each property
  june_2023,  // attributes, without booleans
  july_2023,  // attributes with booleans
  aug_2023,   // and with unsigned numbers
};

// chakra_layout returns the layout of the messages of a file. Raises nothing: bytes that are no
// message tell nothing.
ChakraLayout chakra_layout(gsl::span<const std::string> messages);

// is_chakra_metadata is true for a message that isn't a node.
bool is_chakra_metadata(std::string_view message);

// read_old_chakra_node reads a node of an older layout: parents become data dependencies, and types
// and collectives have the numbers of the current one. nullopt for bytes that are no such node.
std::optional<ChakraNode> read_old_chakra_node(std::string_view message, ChakraLayout layout);

// read_old_chakra_metadata returns the attributes of a metadata message of an older layout; nullopt
// for bytes that are no such message.
std::optional<std::vector<ChakraAttribute>> read_old_chakra_metadata(std::string_view message,
                                                                     ChakraLayout layout);

}  // namespace simmesh::replay
