#include "verify/pytorch/ops/aten_operator.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace simmesh {

namespace {

bool is_identifier(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

constexpr std::string_view overload_words[] = {"default",
                                               "Tensor",
                                               "Scalar",
                                               "Tensor_Scalar",
                                               "Tensor_Tensor",
                                               "Scalar_Tensor",
                                               "ScalarList",
                                               "ScalarSelf",
                                               "ScalarOther",
                                               "List",
                                               "Tensor_mode",
                                               "Scalar_mode",
                                               "Tensor_float",
                                               "Tensor_int",
                                               "TensorList",
                                               "int",
                                               "dim",
                                               "dims",
                                               "dim_max",
                                               "dim_min",
                                               "dim_IntList",
                                               "dim_int",
                                               "dim_values",
                                               "dtype",
                                               "correction",
                                               "self",
                                               "other",
                                               "stable",
                                               "self_Tensor",
                                               "self_int",
                                               "value",
                                               "src",
                                               "value_reduce",
                                               "reduce",
                                               "two",
                                               "decimals",
                                               "sizes",
                                               "sections",
                                               "indices",
                                               "ScalarOpt_dim",
                                               "ScalarOpt_dim_dtype",
                                               "ScalarOpt_dtype",
                                               "Tensor_list",
                                               "int_Tensor",
                                               "int_Scalar",
                                               "scalar",
                                               "tensor",
                                               "vec",
                                               "start",
                                               "start_step",
                                               "low",
                                               "from",
                                               "to",
                                               "grad_input",
                                               "tensor_indices_or_sections",
                                               "array",
                                               "x",
                                               "dx",
                                               "tensor_lr",
                                               "full",
                                               "padding",
                                               "t"};

// Other names under which a function is one operator. A leading underscore, the prefixes of
// torch.linalg and torch.special and native_, and the suffixes _forward, _with_indices and _copy
// need no row.
struct Alias {
  std::string_view function;   // its last name, without the underscore of the form in place
  std::string_view operators;  // separated by spaces
};
constexpr Alias aliases[] = {
    {"absolute", "abs"},
    {"adjoint", "transpose permute"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"argsort", "sort"},
    {"atleast_1d", "view"},
    {"atleast_2d", "unsqueeze view"},
    {"atleast_3d", "unsqueeze view"},
    {"avg_pool1d", "avg_pool2d"},
    {"bfloat16", "_to_copy"},
    {"bool", "_to_copy"},
    {"broadcast_to", "expand"},
    {"byte", "_to_copy"},
    {"chunk", "split split_with_sizes"},
    {"clip", "clamp"},
    {"column_stack", "cat"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"contiguous", "clone"},
    {"conv1d", "convolution"},
    {"conv2d", "convolution"},
    {"conv3d", "convolution"},
    {"conv_transpose1d", "convolution"},
    {"conv_transpose2d", "convolution"},
    {"conv_transpose3d", "convolution"},
    {"det", "_linalg_det"},
    {"diag", "diagonal_copy diag_embed"},
    {"divide", "div"},
    {"double", "_to_copy"},
    {"dstack", "cat"},
    {"einsum", "permute bmm mul sum mm view"},
    {"expand_as", "expand"},
    {"expit", "sigmoid"},
    {"fix", "trunc"},
    {"flatten", "view _unsafe_view"},
    {"fliplr", "flip"},
    {"flipud", "flip"},
    {"float", "_to_copy"},
    {"float_power", "pow"},
    {"getitem", "select slice index"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"half", "_to_copy"},
    {"hstack", "cat"},
    {"int", "_to_copy"},
    {"interpolate", "upsample_nearest1d upsample_nearest2d upsample_nearest3d"},
    {"isreal", "ones_like"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"linear", "addmm mm"},
    {"long", "_to_copy"},
    {"matmul", "mm mv dot bmm"},
    {"matrix_norm", "linalg_vector_norm"},
    {"moveaxis", "permute"},
    {"movedim", "permute"},
    {"msort", "sort"},
    {"multiply", "mul"},
    {"narrow", "slice"},
    {"negative", "neg"},
    {"nll_loss", "nll_loss2d_forward"},
    {"norm", "linalg_vector_norm"},
    {"not_equal", "ne"},
    {"outer", "mul"},
    {"pad", "constant_pad_nd reflection_pad1d reflection_pad2d replication_pad1d"},
    {"prelu", "_prelu_kernel"},
    {"ravel", "view"},
    {"relu6", "hardtanh"},
    {"reshape", "view _unsafe_view"},
    {"reshape_as", "view _unsafe_view"},
    {"rms_norm", "_fused_rms_norm"},
    {"row_stack", "cat"},
    {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"},
    {"selu", "elu"},
    {"softmin", "_softmax"},
    {"split", "split_with_sizes"},
    {"square", "pow"},
    {"subtract", "sub"},
    {"sum_to_size", "sum"},
    {"swapaxes", "transpose"},
    {"swapdims", "transpose"},
    {"take_along_dim", "gather"},
    {"tensor_split", "slice"},
    {"tile", "repeat"},
    {"to", "_to_copy"},
    {"true_divide", "div"},
    {"type_as", "_to_copy"},
    {"unflatten", "view"},
    {"view_as", "view"},
    {"vstack", "cat"}};

std::string_view last_name(std::string_view function) {
  return function.substr(function.rfind('.') + 1);
}

bool is_among(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

// Takes one underscore off the end: the form in place of an operator runs the same op.
std::string_view without_underscore(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

bool is_own_name(std::string_view own, std::string_view name) {
  for (std::string_view prefix : {"", "_", "linalg_", "_linalg_", "special_", "fft_", "native_"})
    for (std::string_view suffix : {"", "_forward", "_with_indices", "_copy"})
      if (name == fmt::format("{}{}{}", prefix, own, suffix)) return true;
  // The steps of an optimizer change their arguments.
  return own.starts_with("fused_") && name == fmt::format("_{}_", own);
}

}  // namespace

bool is_aten_operator(const std::string& text) {
  if (!text.starts_with("aten.")) return false;
  AtenOperator parts = parse_aten_operator(text);
  return is_identifier(parts.name) &&
         std::find(std::begin(overload_words), std::end(overload_words), parts.overload) !=
             std::end(overload_words);
}

AtenOperator parse_aten_operator(std::string_view text) {
  text.remove_prefix(std::min(text.find('.') + 1, text.size()));
  std::size_t dot = std::min(text.find('.'), text.size());
  return {std::string(text.substr(0, dot)),
          std::string(text.substr(std::min(dot + 1, text.size())))};
}

bool can_be_operator(std::string_view function, std::string_view aten, std::string_view op) {
  if (constexpr std::string_view prefix = "torch.ops."; function.starts_with(prefix))
    return function.substr(prefix.size()) == aten;
  std::string name = parse_aten_operator(aten).name;
  std::string_view own = last_name(function);
  if (is_own_name(own, name)) return true;
  bool is_in_place = own.ends_with('_');
  if (is_in_place != name.ends_with('_')) return false;
  std::string_view plain = without_underscore(name);
  if (!op.empty() && without_underscore(op) == plain) return true;
  auto alias = std::find_if(std::begin(aliases), std::end(aliases), [&](const Alias& one) {
    return one.function == without_underscore(own);
  });
  return alias != std::end(aliases) && is_among(plain, alias->operators);
}

std::vector<std::size_t> operator_order(std::string_view function, std::size_t tensors) {
  std::vector<std::size_t> order(tensors);
  std::iota(order.begin(), order.end(), 0);
  std::string_view own = last_name(function);
  if (!function.starts_with("torch.nn.functional.")) return order;
  if (own == "embedding" && tensors == 2) return {1, 0};
  // The function has its running statistics before weight and bias.
  if (own == "batch_norm" && tensors == 5) return {0, 3, 4, 1, 2};
  return order;
}

}  // namespace simmesh
