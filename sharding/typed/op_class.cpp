#include "sharding/typed/op_class.h"

#include <map>
#include <vector>

namespace simmesh::typed {

namespace {

struct ClassNames {
  OpClass op_class;
  std::vector<std::string_view> names;
};

std::map<std::string_view, OpClass> class_table() {
  const std::vector<ClassNames> rows = {
      {OpClass::linear,
       {"neg", "positive", "clone", "detach", "sum", "sum_dim", "sum_int64", "mean", "mean_dim",
        "nansum", "nanmean", "cumsum"}},
      {OpClass::linear,
       {"reshape", "view", "transpose", "t", "permute", "swapaxes", "movedim", "contiguous",
        "flatten", "ravel", "unflatten", "squeeze", "unsqueeze", "expand", "broadcast_to"}},
      {OpClass::linear,
       {"narrow", "select", "split", "chunk", "unbind", "flip", "roll", "diagonal", "tile",
        "repeat", "repeat_interleave", "unfold", "view_dtype"}},
      {OpClass::linear,
       {"add", "add_alpha", "sub", "cat", "cat3", "stack", "block_diag", "index_select", "gather",
        "expand_as", "view_as", "repeat_interleave_tensor"}},
      {OpClass::linear,
       {"hstack", "vstack", "dstack", "column_stack", "row_stack", "fliplr", "flipud", "H", "mT",
        "mH", "real", "imag"}},
      {OpClass::linear, {"add_scalar", "scalar_add", "sub_scalar", "scalar_sub"}},
      {OpClass::multilinear,
       {"mul", "matmul", "mm", "bmm", "einsum", "einsum3", "dot", "mv", "mul_scalar", "scalar_mul",
        "div_other_keyword"}},
      {OpClass::divided, {"div", "div_floor", "div_scalar", "div_scalar_floor", "scalar_div"}},
      {OpClass::composed, {"addmm", "addmv", "addbmm", "baddbmm", "addr"}},
      {OpClass::factory,
       {"zeros", "ones", "full", "arange", "linspace", "logspace", "eye", "tensor", "new_zeros",
        "new_ones", "new_full"}},
      {OpClass::untyped_factory, {"empty", "randn", "rand", "randperm"}}};
  std::map<std::string_view, OpClass> table;
  for (const ClassNames& row : rows)
    for (std::string_view name : row.names) table[name] = row.op_class;
  return table;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The name of the operation that computes the same into a new tensor: "add" of "add_".
std::string_view without_written(std::string_view op) {
  std::size_t end = is_written_only(op) ? 4 : ends_with(op, "_") ? 1 : 0;
  return op.substr(0, op.size() - end);
}

}  // namespace

OpClass op_class(std::string_view op) {
  static const std::map<std::string_view, OpClass> table = class_table();
  auto found = table.find(without_written(op));
  return found == table.end() ? OpClass::other : found->second;
}

std::optional<std::size_t> written_operand(std::string_view op, std::size_t operands) {
  if (operands == 0) return std::nullopt;
  if (is_written_only(op)) return operands - 1;
  return ends_with(op, "_") ? std::optional<std::size_t>(0) : std::nullopt;
}

bool is_written_only(std::string_view op) { return ends_with(op, "_out"); }

}  // namespace simmesh::typed
