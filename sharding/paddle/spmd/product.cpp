#include <algorithm>

#include "core/check/join_text.h"
#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/product_merge.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// The notation of a product: a vector counts as a row on the left and as a column on the right, and
// the product has no such dim.
struct ProductAxes {
  std::string x;
  std::string y;
  std::string output;
};

ProductAxes product_axes(const SpmdCall& call, std::size_t x_dims, std::size_t y_dims) {
  constexpr std::string_view alphabet = "abcdefghijlopqrstuvwxyz";  // without k, m and n
  if (x_dims == 0 || y_dims == 0 || std::max(x_dims, y_dims) > alphabet.size())
    refuse_argument(call, "MatmulSPMDRule Receive Unsupported x_dim [{}] and y_dim [{}].", x_dims,
                    y_dims);
  std::size_t x_batch = x_dims < 2 ? 0 : x_dims - 2, y_batch = y_dims < 2 ? 0 : y_dims - 2;
  std::size_t batch = std::max(x_batch, y_batch);
  auto last = [&](std::size_t count) { return std::string(alphabet.substr(batch - count, count)); };
  return {.x = last(x_batch) + (x_dims == 1 ? "k" : "mk"),
          .y = last(y_batch) + (y_dims == 1 ? "k" : "kn"),
          .output = last(batch) + (x_dims == 1 ? "" : "m") + (y_dims == 1 ? "" : "n")};
}

// Returns a factor as the product uses it: with its last two dims exchanged where it is transposed.
ProductOperand operand_of(const SpmdCall& call, const SpmdTensor& tensor, const std::string& axes,
                          bool is_transposed) {
  ProductOperand operand{axes, tensor.shape, tensor.attr.dims_mapping};
  if (!is_transposed) return operand;
  if (tensor.shape.size() < 2)
    refuse_argument(call, "expected a matrix to transpose, got {}",
                    simmesh::to_string(tensor.shape));
  std::swap(operand.shape.end()[-1], operand.shape.end()[-2]);
  std::swap(operand.dims_mapping.end()[-1], operand.dims_mapping.end()[-2]);
  return operand;
}

DistAttr transposed_back(DistAttr attr, bool is_transposed) {
  if (is_transposed) std::swap(attr.dims_mapping.end()[-1], attr.dims_mapping.end()[-2]);
  return attr;
}

// The wanted layouts of a product's factors, and the product.
struct Product {
  DistAttr x;
  DistAttr y;
  DistAttr output;
};

Product product_of(const SpmdCall& call, bool transpose_x, bool transpose_y) {
  const SpmdTensor &x = call.tensor(0), &y = call.tensor(1);
  ProductAxes axes = product_axes(call, x.shape.size(), y.shape.size());
  ProductOperand left = operand_of(call, x, axes.x, transpose_x);
  ProductOperand right = operand_of(call, y, axes.y, transpose_y);
  ProductCuts cuts = merge_product(call, left, right);
  return {.x = transposed_back(cuts.input(left), transpose_x),
          .y = transposed_back(cuts.input(right), transpose_y),
          .output = cuts.output(axes.output)};
}

// matmul(x, y, trans_x, trans_y)
SpmdAnswer matmul(const SpmdCall& call) {
  Product product = product_of(call, call.boolean(0), call.boolean(1));
  return {.inputs = {product.x, product.y}, .outputs = {product.output}};
}

SpmdAnswer bmm(const SpmdCall& call) {
  Product product = product_of(call, false, false);
  return {.inputs = {product.x, product.y}, .outputs = {product.output}};
}

std::vector<std::string> split_at(const std::string& text, std::string_view separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos;
       begin = end + separator.size())
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

bool is_cut(const AxisOperand& operand) {
  return std::any_of(operand.mesh_dims.begin(), operand.mesh_dims.end(),
                     [](std::int64_t mesh_dim) { return mesh_dim >= 0; });
}

// True for an outer product, which has each axis of its two operands once.
bool is_outer(const std::vector<std::string>& operands, std::string output) {
  if (operands.size() != 2) return false;
  std::string axes = operands[0] + operands[1];
  std::sort(axes.begin(), axes.end());
  std::sort(output.begin(), output.end());
  return axes == output && std::adjacent_find(axes.begin(), axes.end()) == axes.end();
}

// einsum(tensors, equation): one mesh dim an axis, and of several axes the first one keeps it. Only
// one operand of an outer product is cut.
SpmdAnswer einsum(const SpmdCall& call) {
  std::string equation = call.text(0);
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  std::vector<std::string> sides = split_at(equation, "->");
  if (sides.size() != 2)
    refuse_argument(call, "expected an equation with '->', got '{}'", equation);
  std::vector<std::string> axes = split_at(sides[0], ",");
  const std::vector<SpmdTensor>& tensors = call.tensors(0);
  if (axes.size() != tensors.size())
    refuse_argument(call, "expected {} tensors for '{}', got {}", axes.size(), equation,
                    tensors.size());
  std::vector<AxisOperand> operands;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].size() != tensors[i].shape.size())
      refuse_argument(call, "expected a tensor of {} dims for '{}', got {}", axes[i].size(),
                      axes[i], simmesh::to_string(tensors[i].shape));
    operands.push_back({axes[i], call.single(tensors[i])});
  }
  if (is_outer(axes, sides[1]) && is_cut(operands[0]) && is_cut(operands[1]))
    std::fill(operands[1].mesh_dims.begin(), operands[1].mesh_dims.end(), -1);
  AxisMeshDims merged = merge_axes(call, operands);
  std::vector<DistAttr> wanted;
  for (const std::string& operand : axes) wanted.push_back(merged.attr(operand));
  return {.inputs = {wanted}, .outputs = {merged.partial_attr(sides[1])}};
}

// fused_gemm_epilogue(x, y, bias, trans_x, trans_y, activation): the bias has the layout of the
// last dim of the product and is partial with it. The second output has no dims.
SpmdAnswer fused_gemm_epilogue(const SpmdCall& call) {
  const SpmdTensor &x = call.tensor(0), &y = call.tensor(1);
  ProductAxes axes = product_axes(call, x.shape.size(), y.shape.size());
  if (axes.output.empty()) call.require_dims(x, 2);
  auto single_of = [&](const SpmdTensor& tensor, bool is_transposed) {
    Dims single = call.single(tensor);
    if (is_transposed) call.require_dims(tensor, 2);
    if (is_transposed) std::swap(single.end()[-1], single.end()[-2]);
    return single;
  };
  bool transpose_x = call.boolean(0), transpose_y = call.boolean(1);
  AxisMeshDims merged =
      merge_axes(call, {{axes.x, single_of(x, transpose_x)}, {axes.y, single_of(y, transpose_y)}});
  DistAttr output = merged.partial_attr(axes.output);
  DistAttr bias{.dims_mapping = {output.dims_mapping.back()},
                .partial_status = output.partial_status};
  auto wanted = [&](const SpmdTensor& tensor, const std::string& letters, bool is_transposed) {
    DistAttr attr = transposed_back(merged.attr(letters), is_transposed);
    for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim)
      if (tensor.shape[dim] == 1) attr.dims_mapping[dim].clear();
    return attr;
  };
  return {.inputs = {wanted(x, axes.x, transpose_x), wanted(y, axes.y, transpose_y), bias},
          .outputs = {output, DistAttr{}}};
}

// Returns the layout of a sum over all dims but the last `kept`.
DistAttr summed_to(const DistAttr& attr, std::size_t kept) {
  DistAttr result{.dims_mapping = {}, .partial_status = attr.partial_status};
  std::size_t summed = attr.dims_mapping.size() - std::min(kept, attr.dims_mapping.size());
  for (std::size_t dim = 0; dim < attr.dims_mapping.size(); ++dim) {
    if (dim >= summed)
      result.dims_mapping.push_back(attr.dims_mapping[dim]);
    else
      for (std::int64_t mesh_dim : attr.dims_mapping[dim])
        result.partial_status.emplace(mesh_dim, ReduceOp::sum);
  }
  return result;
}

// Returns the layout as Paddle prints it, with mesh dims named x, y, z and so on.
std::string printed(const SpmdCall& call, const DistAttr& attr) {
  std::string names, cuts, partial;
  for (std::size_t dim = 0; dim < call.mesh_shape.size(); ++dim)
    names += fmt::format("{}{}", dim == 0 ? "" : ",", "xyzwvuts"[dim % 8]);
  std::int64_t ranks = numel(call.mesh_shape);
  std::vector<std::int64_t> ids;
  for (std::int64_t rank = 0; rank < ranks; ++rank) ids.push_back(rank);
  for (const Dims& mesh_dims : attr.dims_mapping)
    cuts += fmt::format("[{}] ", join_text(mesh_dims, ","));
  for (const auto& [mesh_dim, op] : attr.partial_status)
    partial += fmt::format("Partial(dims:{}, {}), ", mesh_dim, to_word(op));
  std::vector<int> dynamic(attr.dims_mapping.size(), 0);
  return fmt::format(
      "{{process_mesh: {{shape: [{}], process_ids: [{}], dim_names: [{}]}}, dim_mappings: [{}], "
      "batch_dim: 0, chunk_id: 0, skip_check_mesh: 0, dynamic_dims: [{}], annotated: [], partial: "
      "[{}], split_factor: .}}",
      join_text(call.mesh_shape, ","), join_text(ids, ","), names, cuts, join_text(dynamic, ","),
      partial);
}

void require_same(const SpmdCall& call, std::string_view given, std::string_view computed,
                  const SpmdTensor& tensor, const DistAttr& expected) {
  if (tensor.shape == Shape{0} || tensor.attr == expected) return;
  refuse_argument(call, "{} [{}] and {} [{}] should be equal", given, printed(call, tensor.attr),
                  computed, printed(call, expected));
}

// fused_linear_param_grad_add(x, dout, dweight, dbias, multi_precision, has_bias) adds the
// gradients of a linear layer to dweight and dbias, which must have the layouts of the gradients
// (or be absent): it moves nothing.
SpmdAnswer fused_linear_param_grad_add(const SpmdCall& call) {
  Product product = product_of(call, true, false);
  DistAttr weight = summed_to(product.output, 2);
  const SpmdTensor& dout = call.tensor(1);
  DistAttr bias = call.boolean(1) ? summed_to({.dims_mapping = dout.attr.dims_mapping,
                                               .partial_status = dout.attr.partial_status},
                                              1)
                                  : DistAttr{};
  require_same(call, "dweight_dist_attr", "weight_grad_dist_attr", call.tensor(2), weight);
  require_same(call, "dbias_dist_attr", "bias_grad_dist_attr", call.tensor(3), bias);
  return {.inputs = {product.x, product.y, call.tensor(2).attr, call.tensor(3).attr},
          .outputs = {weight, bias}};
}

constexpr NamedSpmdRule product_rules[] = {
    {"bmm", bmm},
    {"einsum", einsum},
    {"fused_gemm_epilogue", fused_gemm_epilogue},
    {"fused_linear_param_grad_add", fused_linear_param_grad_add},
    {"matmul", matmul},
};

}  // namespace

gsl::span<const NamedSpmdRule> product_spmd_rules() { return product_rules; }

}  // namespace simmesh::paddle
