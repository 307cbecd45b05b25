#include <algorithm>

#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/co_shard.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// Ops of one tensor keep every cut that divides its dim, co-shards too; a partial tensor is reduced
// first.
SpmdAnswer unary(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  DistAttr attr{.dims_mapping = x.attr.dims_mapping, .partial_status = {}};
  drop_uneven_cuts(attr, x.shape, call.mesh_shape);
  return {.inputs = {attr}, .outputs = {attr}};
}

// The axes of the operands of a broadcast, and those of its result: '1' where all have size 1.
struct Broadcast {
  std::vector<std::string> operands;
  std::string output;
};

Broadcast broadcast_axes(const std::vector<SpmdTensor>& tensors) {
  std::size_t dims = 0;
  for (const SpmdTensor& tensor : tensors) dims = std::max(dims, tensor.shape.size());
  Broadcast result{.operands = {}, .output = letters(dims)};
  for (const SpmdTensor& tensor : tensors)
    result.operands.push_back(broadcast_letters(tensor.shape, dims));
  for (std::size_t dim = 0; dim < dims; ++dim) {
    auto is_broadcast = [&](const std::string& axes) {
      return dim + axes.size() < dims || axes[dim + axes.size() - dims] == '1';
    };
    if (std::all_of(result.operands.begin(), result.operands.end(), is_broadcast))
      result.output[dim] = '1';
  }
  return result;
}

SpmdAnswer binary(const SpmdCall& call) {
  std::vector<SpmdTensor> tensors{call.tensor(0), call.tensor(1)};
  Broadcast axes = broadcast_axes(tensors);
  AxisMeshDims merged = merge_axes(call, {{axes.operands[0], call.single(tensors[0])},
                                          {axes.operands[1], call.single(tensors[1])}});
  return {.inputs = {merged.attr(axes.operands[0]), merged.attr(axes.operands[1])},
          .outputs = {merged.attr(axes.output)}};
}

// where(condition, x, y): Paddle uses the layout of x for y too, and ignores y's own. (The dims of
// x count from the front of those of y.) Dims of size 1 count as others.
SpmdAnswer where(const SpmdCall& call) {
  std::size_t dims = 0;
  for (std::size_t i = 0; i < 3; ++i) dims = std::max(dims, call.tensor(i).shape.size());
  auto axes_of = [&](std::size_t i) {
    return letters(dims).substr(dims - call.tensor(i).shape.size());
  };
  Dims x_dims = call.single(call.tensor(1));
  std::string y_axes = axes_of(2);
  if (x_dims.size() > y_axes.size() + 1)
    raise(ErrorKind::index_error, "sharding/paddle",
          "{}: expected x to have at most one dim more than y, got {} and {}", call.op,
          x_dims.size(), y_axes.size());
  std::size_t read = std::min(x_dims.size(), y_axes.size());
  AxisMeshDims merged =
      merge_axes(call, {{axes_of(0), call.single(call.tensor(0))},
                        {axes_of(1), x_dims},
                        {y_axes.substr(0, read), Dims(x_dims.begin(), x_dims.begin() + read)}});
  SpmdAnswer answer{.inputs = {}, .outputs = {merged.attr(letters(dims))}};
  for (std::size_t i = 0; i < 3; ++i) answer.inputs.push_back(merged.attr(axes_of(i)));
  return answer;
}

bool cuts_any(const DistAttr& attr, const std::map<std::int64_t, ReduceOp>& partial) {
  for (const Dims& cuts : attr.dims_mapping)
    for (std::int64_t mesh_dim : cuts)
      if (partial.contains(mesh_dim)) return true;
  return false;
}

// A product with a partial factor is partial itself, where nothing else needs its mesh dims. Of two
// partial factors the second is reduced first.
SpmdAnswer multiply(const SpmdCall& call) {
  SpmdAnswer answer = binary(call);
  std::size_t factor = call.tensor(0).attr.partial_status.empty() ? 1 : 0;
  const auto& partial = call.tensor(factor).attr.partial_status;
  DistAttr& input = answer.inputs[factor].attrs.front();
  DistAttr& output = answer.outputs.front().attrs.front();
  if (cuts_any(input, partial) || cuts_any(output, partial)) return answer;
  input.partial_status = partial;
  output.partial_status = partial;
  return answer;
}

// add_n adds tensors of one shape. A mesh dim that is partial alike in all of them stays partial.
SpmdAnswer add_n(const SpmdCall& call) {
  std::vector<AxisOperand> operands;
  std::string axes;
  if (call.tensors(0).empty()) refuse_argument(call, "expected tensors, got an empty list");
  for (const SpmdTensor& tensor : call.tensors(0)) {
    axes = letters(tensor.shape.size());
    operands.push_back({axes, call.single(tensor)});
  }
  DistAttr attr = merge_axes(call, operands).attr(axes);
  const auto& partial = call.tensors(0).front().attr.partial_status;
  bool is_shared =
      std::all_of(call.tensors(0).begin(), call.tensors(0).end(),
                  [&](const SpmdTensor& tensor) { return tensor.attr.partial_status == partial; });
  if (is_shared && !cuts_any(attr, partial)) attr.partial_status = partial;
  return {.inputs = {std::vector<DistAttr>(operands.size(), attr)}, .outputs = {attr}};
}

constexpr NamedSpmdRule elementwise_rules[] = {
    {"abs", unary},
    {"acos", unary},
    {"acosh", unary},
    {"add", binary},
    {"add_n", add_n},
    {"asin", unary},
    {"asinh", unary},
    {"assign", unary},
    {"atan", unary},
    {"atanh", unary},
    {"bernoulli", unary},
    {"bitwise_and", binary},
    {"bitwise_not", unary},
    {"bitwise_or", binary},
    {"bitwise_xor", binary},
    {"ceil", unary},
    {"celu", unary},
    {"clip", unary},
    {"conj", unary},
    {"cos", unary},
    {"cosh", unary},
    {"digamma", unary},
    {"divide", binary},
    {"dropout", unary},
    {"elementwise_pow", binary},
    {"elu", unary},
    {"erf", unary},
    {"erfinv", unary},
    {"exp", unary},
    {"expm1", unary},
    {"floor", unary},
    {"floor_divide", binary},
    {"fmax", binary},
    {"fmin", binary},
    {"gelu", unary},
    {"greater_than", binary},
    {"hardshrink", unary},
    {"hardsigmoid", unary},
    {"hardswish", unary},
    {"hardtanh", unary},
    {"heaviside", binary},
    {"label_smooth", binary},
    {"leaky_relu", unary},
    {"less_than", binary},
    {"lgamma", unary},
    {"log", unary},
    {"log10", unary},
    {"log1p", unary},
    {"log2", unary},
    {"logical_and", binary},
    {"logical_not", unary},
    {"logical_or", binary},
    {"logical_xor", binary},
    {"logit", unary},
    {"logsigmoid", unary},
    {"maximum", binary},
    {"minimum", binary},
    {"mish", unary},
    {"multiply", multiply},
    {"not_equal", binary},
    {"poisson", unary},
    {"pow", unary},
    {"reciprocal", unary},
    {"relu", unary},
    {"relu6", unary},
    {"remainder", binary},
    {"round", unary},
    {"rsqrt", unary},
    {"scale", unary},
    {"selu", unary},
    {"sigmoid", unary},
    {"sign", unary},
    {"silu", unary},
    {"sin", unary},
    {"sinh", unary},
    {"softplus", unary},
    {"softshrink", unary},
    {"softsign", unary},
    {"sqrt", unary},
    {"square", unary},
    {"stanh", unary},
    {"subtract", binary},
    {"swiglu", binary},
    {"swish", unary},
    {"tan", unary},
    {"tanh", unary},
    {"tanh_shrink", unary},
    {"thresholded_relu", unary},
    {"trunc", unary},
    {"where", where},
};

}  // namespace

gsl::span<const NamedSpmdRule> elementwise_spmd_rules() { return elementwise_rules; }

}  // namespace simmesh::paddle
