#include "replay/chakra/chakra_trace.h"

#include <array>

namespace simmesh::replay {

std::string to_string(ChakraNodeType type) {
  static constexpr std::array<std::string_view, 8> names = {
      "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
      "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
  std::size_t number = std::size_t(type);
  return number < names.size() ? std::string(names[number]) : std::to_string(number);
}

const ChakraValue* ChakraNode::find(std::string_view name) const {
  for (const ChakraAttribute& attribute : attributes)
    if (attribute.name == name) return &attribute.value;
  return nullptr;
}

bool ChakraNode::is_cpu_op() const {
  const ChakraValue* value = find("is_cpu_op");
  const bool* flag = value ? std::get_if<bool>(value) : nullptr;
  return flag && *flag;
}

bool ChakraNode::is_comm() const {
  return type == ChakraNodeType::comm_send || type == ChakraNodeType::comm_recv ||
         type == ChakraNodeType::comm_coll;
}

}  // namespace simmesh::replay
