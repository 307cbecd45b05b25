#include "collectives/fabric.h"

namespace simmesh {

namespace {

std::uint64_t operand_bytes(const CollectiveCall& call) {
  std::uint64_t bytes = 0;
  for (const Tensor& input : call.inputs) bytes += input.bytes();
  return bytes;
}

std::uint64_t all_operand_bytes(const Exchange& exchange) {
  std::uint64_t bytes = 0;
  for (std::size_t member = 0; member < exchange.members(); ++member)
    bytes += operand_bytes(exchange.call(member));
  return bytes;
}

// Returns the number of bytes of its list or rows that a member sends to others: all but its own
// part.
std::uint64_t sent_to_others(const Exchange& exchange, std::size_t member) {
  const CollectiveCall& call = exchange.call(member);
  std::uint64_t bytes = operand_bytes(call);
  if (facts_of(call.op).bytes == FabricBytes::listed_parts)
    return bytes - call.inputs[member].bytes();
  if (call.input_splits.empty()) return bytes - bytes / exchange.members();
  std::int64_t rows = call.inputs[0].size(0);
  std::int64_t own = call.input_splits[member];
  return rows == 0 ? 0 : bytes / std::uint64_t(rows) * std::uint64_t(rows - own);
}

}  // namespace

std::uint64_t fabric_bytes(const Exchange& exchange) {
  const CollectiveCall& call = exchange.call(0);
  std::uint64_t others = exchange.members() - 1;
  switch (facts_of(call.op).bytes) {
    case FabricBytes::none: return 0;
    case FabricBytes::operand_to_others_twice: return 2 * others * operand_bytes(call);
    case FabricBytes::operand_to_others: return others * operand_bytes(call);
    case FabricBytes::all_to_others: return others * all_operand_bytes(exchange);
    case FabricBytes::root_to_others:
      return others * operand_bytes(exchange.call(std::size_t(call.root)));
    case FabricBytes::all_to_root:
      return all_operand_bytes(exchange) - operand_bytes(exchange.call(std::size_t(call.root)));
    case FabricBytes::parts_of_root: {
      const CollectiveCall& root = exchange.call(std::size_t(call.root));
      return operand_bytes(root) - root.inputs[std::size_t(call.root)].bytes();
    }
    case FabricBytes::even_parts:
    case FabricBytes::listed_parts: {
      std::uint64_t bytes = 0;
      for (std::size_t member = 0; member < exchange.members(); ++member)
        bytes += sent_to_others(exchange, member);
      return bytes;
    }
  }
  return 0;
}

}  // namespace simmesh
