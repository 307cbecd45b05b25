#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

bool is_absent(const SpmdTensor& tensor) { return tensor.shape == Shape{0}; }

Dims without_cuts(Dims single, std::initializer_list<std::size_t> dims) {
  for (std::size_t dim : dims) single[dim] = -1;
  return single;
}

// Where keys have fewer heads than queries, a cut of the heads must divide those of the keys.
bool may_cut_heads(const SpmdCall& call) {
  std::int64_t heads = call.tensor(1).shape[2];
  std::int64_t mesh_dim = call.single(call.tensor(1))[2];
  return call.tensor(0).shape[2] == call.tensor(2).shape[2] || mesh_dim < 0 ||
         heads % call.mesh_shape[std::size_t(mesh_dim)] == 0;
}

// flash_attention(q, k, v, fixed_seed_offset, attn_mask, ..) with tensors [batch, length, heads,
// size]: batch and heads stay cut. The values get the layout of the keys. Outputs are the result,
// the softmax [batch, heads, length, key length], its logarithms and the seed.
SpmdAnswer flash_attention(const SpmdCall& call) {
  for (std::size_t i = 0; i < 3; ++i)
    if (call.tensor(i).shape.size() != 4)
      refuse_argument(call,
                      "The Tensor q's shape must be [batch_size, seq_len_q, num_heads, "
                      "head_dim], got {} for argument {}",
                      simmesh::to_string(call.tensor(i).shape), i);
  const SpmdTensor& mask = call.tensor(4);
  Dims q = without_cuts(call.single(call.tensor(0)), {1, 3});
  Dims k = without_cuts(call.single(call.tensor(1)), {1, 3});
  bool has_mask = !is_absent(mask);
  if (has_mask && mask.shape.size() != 4)
    refuse_argument(call, "expected a mask of 4 dims, got {}", simmesh::to_string(mask.shape));
  Dims mask_dims = has_mask ? without_cuts(call.single(mask), {2, 3}) : Dims{};
  if (!may_cut_heads(call)) {
    q[2] = k[2] = -1;
    if (has_mask) mask_dims[1] = -1;
  }
  // batch a, query length b, heads c, size d, key length e, size of the values f
  std::vector<AxisOperand> operands{{"abcd", q}, {"aecd", k}, {"aecf", k}};
  if (has_mask) operands.push_back({"acbe", mask_dims});
  AxisMeshDims merged = merge_axes(call, operands);
  DistAttr wanted_mask = mask.attr;
  if (has_mask) wanted_mask = merged.attr(mask.shape[1] == 1 ? "a1be" : "acbe");
  DistAttr seed{.dims_mapping = {Dims{}}, .partial_status = call.tensor(3).attr.partial_status};
  return {.inputs = {merged.attr("abcd"), merged.attr("aecd"), merged.attr("aecf"),
                     call.tensor(3).attr, wanted_mask},
          .outputs = {merged.attr("abcf"), merged.attr("acbe"), merged.attr("acb"), seed}};
}

// Returns the wanted layout of a table of sines or cosines, [1, length, 1, size] or [length, size].
DistAttr table_attr(const SpmdCall& call, const SpmdTensor& table, std::int64_t length_cut) {
  DistAttr attr{.dims_mapping = table.attr.dims_mapping, .partial_status = {}};
  bool has_four = table.shape.size() == 4;
  if (!has_four && table.shape.size() != 2)
    refuse_argument(call, "The Tensor sin/cos's ndim must be 2 or 4. but given [{}]",
                    table.shape.size());
  attr.dims_mapping[has_four ? 1 : 0] = length_cut < 0 ? Dims{} : Dims{length_cut};
  attr.dims_mapping[has_four ? 3 : 1].clear();
  return attr;
}

// fused_rotary_position_embedding(q, k, v, sin, cos, position_ids, use_neox_rotary_style,
// time_major, rotary_emb_base): q, k and v have one layout, whole in their last dim. The length is
// cut only where tables are given and no positions. All but q may be absent.
SpmdAnswer rotary_embedding(const SpmdCall& call) {
  bool is_time_major = call.boolean(1);
  const SpmdTensor& positions = call.tensor(5);
  std::string position_axes = is_time_major ? "ba" : "ab";
  std::vector<AxisOperand> operands;
  for (std::size_t i = 0; i < 3; ++i)
    if (!is_absent(call.tensor(i))) operands.push_back({"abcd", call.single(call.tensor(i))});
  bool has_positions = !is_absent(positions);
  if (has_positions) operands.push_back({position_axes, call.single(positions)});
  AxisMeshDims merged = merge_axes(call, operands);

  Dims wanted = without_cuts(merged.layout("abcd"), {3});
  std::size_t length = is_time_major ? 0 : 1;
  bool has_tables = !is_absent(call.tensor(3)) && !is_absent(call.tensor(4));
  if (!has_tables || has_positions) wanted[length] = -1;
  SpmdAnswer answer;
  for (std::size_t i = 0; i < 3; ++i)
    answer.inputs.push_back(is_absent(call.tensor(i)) ? DistAttr::replicated(1) : attr_of(wanted));
  answer.outputs = answer.inputs;
  for (std::size_t i = 3; i < 5; ++i)
    answer.inputs.push_back(has_tables ? table_attr(call, call.tensor(i), wanted[length])
                                       : attr_of(call.single(call.tensor(i))));
  Dims position_dims = has_positions ? without_cuts(merged.layout(position_axes), {1}) : Dims{-1};
  answer.inputs.push_back(attr_of(position_dims));
  return answer;
}

constexpr NamedSpmdRule attention_rules[] = {{"flash_attention", flash_attention},
                                             {"fused_rotary_position_embedding", rotary_embedding}};

}  // namespace

gsl::span<const NamedSpmdRule> attention_spmd_rules() { return attention_rules; }

}  // namespace simmesh::paddle
