#include "collectives/collective_op.h"

namespace simmesh {

std::optional<CollectiveOp> collective_op_named(std::string_view name) {
  for (const CollectiveFacts& facts : collective_facts)
    if (facts.name == name) return facts.op;
  return {};
}

std::string_view to_string(FabricBytes bytes) {
  switch (bytes) {
    case FabricBytes::none: return "0";
    case FabricBytes::operand_to_others_twice: return "2(n-1) b";
    case FabricBytes::operand_to_others: return "(n-1) b";
    case FabricBytes::all_to_others: return "(n-1) B";
    case FabricBytes::root_to_others: return "(n-1) b_r";
    case FabricBytes::parts_of_root: return "b_r less the root's own piece";
    case FabricBytes::all_to_root: return "B - b_r";
    case FabricBytes::even_parts: return "the sum of b_i - b_i/n";
    case FabricBytes::listed_parts: return "B less what each member keeps";
  }
  SIMMESH_CHECK(false, "unknown FabricBytes {}", int(bytes));
}

}  // namespace simmesh
