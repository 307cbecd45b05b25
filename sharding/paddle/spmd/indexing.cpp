#include <algorithm>

#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// gather(x, index, axis): x is whole along the axis, the index takes its place. A mesh dim that
// cuts both a dim of x and the index cuts the output along the dim of x.
SpmdAnswer gather(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  const SpmdTensor& index = call.tensor(1);
  if (index.shape.empty())
    refuse_argument(call,
                    "index is 0-d tensor, it's dims_mapping size must be 1, but received [0]");
  std::size_t axis = call.dim_of(call.integer(0), x.shape.size());
  Dims x_dims = call.single(x), index_dims = call.single(index);
  x_dims[axis] = -1;
  std::string x_axes = letters(x.shape.size());
  // Letters that x doesn't have.
  std::string index_axes = letters(x.shape.size() + index.shape.size()).substr(x.shape.size());
  AxisMeshDims merged = merge_axes(call, {{x_axes, x_dims}, {index_axes, index_dims}});
  std::string axes = x_axes.substr(0, axis) + index_axes + x_axes.substr(axis + 1);
  return {.inputs = {attr_of(x_dims), attr_of(index_dims)}, .outputs = {merged.attr(axes)}};
}

// gather_nd(x, index): the last dim of the index points into the first dims of x, which are whole.
// Nothing checks whether the rest of x and the index share a mesh dim.
SpmdAnswer gather_nd(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  const SpmdTensor& index = call.tensor(1);
  Dims x_dims = call.single(x), index_dims = call.single(index);
  call.require_dims(index, 1);
  std::size_t pointed = std::size_t(index.shape.back());
  if (pointed > x_dims.size())
    refuse_argument(call, "expected an index of at most {} dims, got {}", x_dims.size(), pointed);
  std::fill_n(x_dims.begin(), pointed, -1);
  index_dims.back() = -1;
  Dims output(index_dims.begin(), index_dims.end() - 1);
  output.insert(output.end(), x_dims.begin() + std::ptrdiff_t(pointed), x_dims.end());
  return {.inputs = {attr_of(x_dims), attr_of(index_dims)}, .outputs = {attr_of(output)}};
}

// index_select(x, index, axis) keeps co-shards. The index is not cut by a mesh dim that cuts x
// elsewhere.
SpmdAnswer index_select(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  std::size_t axis = call.dim_of(call.integer(0), x.shape.size());
  DistAttr wanted{.dims_mapping = x.attr.dims_mapping, .partial_status = {}};
  wanted.dims_mapping[axis].clear();
  call.require_dims(call.tensor(1), 1);
  DistAttr index{.dims_mapping = call.tensor(1).attr.dims_mapping, .partial_status = {}};
  for (const Dims& used : wanted.dims_mapping)
    for (std::int64_t mesh_dim : used)
      for (Dims& cuts : index.dims_mapping)
        cuts.erase(std::remove(cuts.begin(), cuts.end(), mesh_dim), cuts.end());
  DistAttr output = wanted;
  output.dims_mapping[axis] = index.dims_mapping.front();
  return {.inputs = {wanted, index}, .outputs = {output}};
}

struct Lookup {
  DistAttr ids;
  DistAttr table;
  DistAttr output;
};

// A look-up in a table of rows `j`: where the rows are cut, the output is partial.
Lookup lookup(const SpmdCall& call, const SpmdTensor& ids, const SpmdTensor& table) {
  std::string ids_axes = letters(ids.shape.size());
  if (ids_axes.find('j') != std::string::npos)
    refuse_argument(call, "expected ids of fewer than 10 dims, got {}", ids.shape.size());
  AxisMeshDims merged =
      merge_axes_strictly(call, {{ids_axes, call.single(ids)}, {"jk", call.single(table)}});
  return {.ids = merged.attr(ids_axes),
          .table = merged.attr("jk"),
          .output = merged.partial_attr(ids_axes + "k")};
}

// embedding(ids, table, padding_idx, sparse)
SpmdAnswer embedding(const SpmdCall& call) {
  const SpmdTensor& table = call.tensor(1);
  call.require_dims(table, 1);
  if (call.single(table)[0] >= 0) {
    if (call.integer(0) != -1)
      refuse_argument(
          call,
          "Row-wise parallel of embedding table does NOT support Padding Idx, but got "
          "padding_idx [{}] and row axis of embedding table is sharded by mesh dimension "
          "[{}].",
          call.integer(0), call.single(table)[0]);
    if (call.boolean(1))
      refuse_argument(call,
                      "Row-wise parallel of embedding table does NOT support Sparse, but row axis "
                      "of embedding table is sharded by mesh dimension [{}].",
                      call.single(table)[0]);
  }
  Lookup attrs = lookup(call, call.tensor(0), table);
  return {.inputs = {attrs.ids, attrs.table}, .outputs = {attrs.output}};
}

// c_embedding(table, ids, start_index, vocab_size)
SpmdAnswer c_embedding(const SpmdCall& call) {
  Lookup attrs = lookup(call, call.tensor(1), call.tensor(0));
  return {.inputs = {attrs.table, attrs.ids}, .outputs = {attrs.output}};
}

// one_hot(x, num_classes) takes x as it is; the new dim is whole.
SpmdAnswer one_hot(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  DistAttr output = attr_of(call.single(x));
  output.dims_mapping.emplace_back();
  return {.inputs = {x.attr}, .outputs = {output}};
}

constexpr NamedSpmdRule indexing_rules[] = {
    {"c_embedding", c_embedding}, {"embedding", embedding},       {"gather", gather},
    {"gather_nd", gather_nd},     {"index_select", index_select}, {"lookup_table_v2", embedding},
    {"one_hot", one_hot},
};

}  // namespace

gsl::span<const NamedSpmdRule> indexing_spmd_rules() { return indexing_rules; }

}  // namespace simmesh::paddle
