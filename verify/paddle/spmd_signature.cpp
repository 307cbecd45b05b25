#include "verify/paddle/spmd_signature.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace simmesh {

namespace {

// Signature is that of several ops: a letter for each input, T for a tensor and L for a list of
// them, and a word for each attribute. Ints may be one int.
struct Signature {
  std::string_view inputs, attributes, ops;
};

constexpr Signature signatures[] = {
    {"L", "", "add_n"},
    {"L", "int", "concat stack"},
    {"L", "text", "einsum"},
    {"LL", "", "default_ default_data_parallel replicated"},
    {"T", "",
     "abs assign bernoulli ceil cos dropout erf exp log mean_all nonzero relu round "
     "rsqrt sigmoid sign silu sin sqrt square tanh"},
    {"T", "bool", "gelu"},
    {"T", "float", "logit pow"},
    {"T", "float float", "clip"},
    {"T", "float float bool", "scale"},
    {"T", "float int float bool bool", "p_norm"},
    {"T", "int", "log_softmax one_hot softmax triu unbind"},
    {"T", "int bool bool", "argsort"},
    {"T", "int bool bool bool", "cumsum"},
    {"T", "int bool bool int", "argmax argmin"},
    {"T", "int int", "flatten split_with_num"},
    {"T", "int int bool bool", "topk"},
    {"T", "ints", "reshape squeeze tile transpose unsqueeze"},
    {"T", "ints bool", "all amax amin any max min reduce_sum"},
    {"T", "ints bool bool", "logsumexp prod"},
    {"T", "ints int", "split"},
    {"T", "ints ints", "roll"},
    {"T", "ints ints ints ints", "strided_slice"},
    {"T", "ints ints ints ints ints", "slice"},
    {"TT", "",
     "add bmm divide floor_divide gather_nd greater_than logical_and maximum minimum "
     "multiply not_equal subtract swiglu"},
    {"TT", "bool bool", "matmul"},
    {"TT", "bool bool bool int int", "cross_entropy_with_softmax"},
    {"TT", "float", "fused_rms_norm label_smooth"},
    {"TT", "int", "gather index_select take_along_axis"},
    {"TT", "int bool", "embedding"},
    {"TT", "int int", "c_embedding"},
    {"TT", "int int int int", "c_softmax_with_cross_entropy"},
    {"TT", "ints", "expand_as"},
    {"TT", "ints ints text int ints text", "conv3d"},
    {"TT", "ints ints text ints int text", "conv2d"},
    {"TTT", "", "scatter_nd_add where"},
    {"TTT", "bool", "scatter"},
    {"TTT", "bool bool text", "fused_gemm_epilogue"},
    {"TTT", "float", "instance_norm"},
    {"TTT", "float int", "layer_norm"},
    {"TTT", "float int text", "group_norm"},
    {"TTTT", "bool bool", "fused_linear_param_grad_add"},
    {"TTTTT", "bool float float text bool bool", "batch_norm"},
    {"TTTTT", "float bool bool bool text", "flash_attention"},
    {"TTTTTT", "bool bool float", "fused_rotary_position_embedding"}};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

const Signature* find_signature(std::string_view op) {
  for (const Signature& signature : signatures) {
    std::vector<std::string_view> ops = words_of(signature.ops);
    if (std::find(ops.begin(), ops.end(), op) != ops.end()) return &signature;
  }
  return nullptr;
}

bool has_type(const CaseField& value, std::string_view type) {
  if (type == "bool") return value.is_boolean();
  if (type == "int") return value.is_integer();
  if (type == "float") return value.is_number();
  if (type == "text") return value.is_text();
  return value.is_list() || value.is_integer();
}

}  // namespace

void require_spmd_signature(const std::string& op, const CaseField& inputs,
                            const CaseField& attributes) {
  const Signature* signature = find_signature(op);
  if (!signature) return;
  std::string given;
  for (const CaseField& input : inputs.items()) given += input.is_list() ? 'L' : 'T';
  if (given != signature->inputs)
    inputs.reject(fmt::format("inputs {} (T for a tensor, L for a list)", signature->inputs));
  std::vector<std::string_view> types = words_of(signature->attributes);
  std::vector<CaseField> values = attributes.items();
  bool fits = types.size() == values.size();
  for (std::size_t i = 0; fits && i < types.size(); ++i) fits = has_type(values[i], types[i]);
  if (!fits)
    attributes.reject(types.empty() ? std::string("no attributes")
                                    : fmt::format("attributes {}", signature->attributes));
}

}  // namespace simmesh
