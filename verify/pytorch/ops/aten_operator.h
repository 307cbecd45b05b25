#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh {

// AtenOperator is the name of an operator of PyTorch in its parts: "aten.add.Tensor" is "add" with
// the overload "Tensor".
struct AtenOperator {
  std::string name, overload;
};

// is_aten_operator is true if a text is spelled as such a name, with an overload that PyTorch has.
bool is_aten_operator(const std::string& text);

// parse_aten_operator takes such a text apart.
AtenOperator parse_aten_operator(std::string_view text);

// can_be_operator is true if a call of the function ("torch.add", "Tensor.add_",
// "torch.ops.aten.add.Tensor") can be that one operator: it has the function's own name, or one
// that PyTorch documents for it, or it is the one op that ran here (`op`, empty for several).
bool can_be_operator(std::string_view function, std::string_view aten, std::string_view op);

// operator_order returns, for each tensor of the operator, its place among the tensors of the
// function: an embedding has its indices first, the operator its table.
std::vector<std::size_t> operator_order(std::string_view function, std::size_t tensors);

}  // namespace simmesh
