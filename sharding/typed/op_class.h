#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace simmesh::typed {

// OpClass says how an operation depends on its operands, which decides where partial operands pass.
enum class OpClass : std::uint8_t {
  other,            // anything else: no partial operand passes
  linear,           // in all operands together, as a sum is
  multilinear,      // in each operand, as a product is
  divided,          // multilinear in operand 0, and operand 1 divides
  composed,         // operand 0 plus the product of operands 1 and 2, as addmm
  factory,          // a fixed content: replicate on every axis of the current mesh
  untyped_factory,  // another content: no types
};

// op_class returns the class of an operation by its name: that of torch ("matmul"), with a suffix
// for a form of it ("add_scalar", "div_floor"). One that writes an operand ("add_", "add_out") has
// the class of the one that doesn't.
OpClass op_class(std::string_view op);

// written_operand returns the index of the operand that an operation writes: operand 0 of one in
// place ("add_"), the last one of one with out= ("add_out"); nullopt for any other operation.
std::optional<std::size_t> written_operand(std::string_view op, std::size_t operands);

// is_written_only is true where that operand takes no part in the computation.
bool is_written_only(std::string_view op);

}  // namespace simmesh::typed
