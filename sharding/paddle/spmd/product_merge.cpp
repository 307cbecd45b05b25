#include "sharding/paddle/spmd/product_merge.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "sharding/paddle/spmd/co_shard.h"

namespace simmesh::paddle {

namespace {

bool is_matrix_axis(char axis) { return axis == 'k' || axis == 'm' || axis == 'n'; }

// A measure of how much a list of dims is cut.
struct CutMeasure {
  std::int64_t co_shards = -1;
  std::int64_t shards = -1;
  std::int64_t dims = -1;

  bool is_followed_rather_than(const CutMeasure& other) const {
    return co_shards > other.co_shards || shards > other.shards ||
           (shards == other.shards && dims > other.dims);
  }
};

CutMeasure measure_of(const std::vector<Dims>& cuts, DimSpan mesh_shape) {
  CutMeasure measure{.co_shards = 0, .shards = 1, .dims = std::int64_t(cuts.size())};
  for (const Dims& mesh_dims : cuts) {
    if (mesh_dims.size() > 1) ++measure.co_shards;
    measure.shards *= shards_of(mesh_dims, mesh_shape);
  }
  return measure;
}

void append_new(Dims& cuts, const Dims& further, std::set<std::int64_t>& used) {
  for (std::int64_t mesh_dim : further)
    if (used.insert(mesh_dim).second) cuts.push_back(mesh_dim);
}

void remove_used(Dims& cuts, const std::set<std::int64_t>& used) {
  cuts.erase(std::remove_if(cuts.begin(), cuts.end(),
                            [&](std::int64_t mesh_dim) { return used.contains(mesh_dim); }),
             cuts.end());
}

}  // namespace

// ProductMerge is the state of a merge.
class ProductMerge {
 public:
  ProductMerge(const SpmdCall& call, const ProductOperand& x, const ProductOperand& y)
      : call_(call), x_(x), y_(y) {
    for (const ProductOperand* operand : {&x, &y})
      for (std::size_t dim = 0; dim < operand->axes.size(); ++dim) {
        std::int64_t& size = sizes_.emplace(operand->axes[dim], 1).first->second;
        size = std::max(size, operand->shape[dim]);
      }
  }

  std::map<char, Dims> run() {
    merge_batch();
    merge_matrices();
    return cuts_;
  }

 private:
  static std::vector<Dims> batch_of(const ProductOperand& operand) {
    std::vector<Dims> batch;
    for (std::size_t dim = 0; dim < operand.axes.size(); ++dim)
      if (!is_matrix_axis(operand.axes[dim])) batch.push_back(operand.dims_mapping[dim]);
    return batch;
  }

  static Dims cuts_of(const ProductOperand& operand, char axis) {
    std::size_t dim = operand.axes.find(axis);
    return dim == std::string::npos ? Dims{} : operand.dims_mapping[dim];
  }

  void drop_uneven(char axis) { drop_uneven_cuts(cuts_[axis], sizes_[axis], call_.mesh_shape); }

  void merge_batch() {
    std::vector<Dims> left = batch_of(x_), right = batch_of(y_);
    bool follows_right = measure_of(right, call_.mesh_shape)
                             .is_followed_rather_than(measure_of(left, call_.mesh_shape));
    const std::vector<Dims>& followed = follows_right ? right : left;
    const std::vector<Dims>& other = follows_right ? left : right;
    if (other.size() > followed.size())
      raise(
          ErrorKind::value_error, "sharding/paddle",
          "{}: vector::_M_fill_insert: expected the factor whose batch is cut into more pieces to "
          "have at least {} dims of batch, got {}",
          call_.op, other.size(), followed.size());
    const std::string& axes = (follows_right ? y_ : x_).axes;
    for (const Dims& cuts : followed) used_.insert(cuts.begin(), cuts.end());
    std::size_t added = followed.size() - other.size();
    for (std::size_t dim = 0; dim < followed.size(); ++dim) {
      Dims& cuts = cuts_[axes[dim]] = followed[dim];
      if (dim >= added) append_new(cuts, other[dim - added], used_);
      Dims before = cuts;
      drop_uneven(axes[dim]);
      for (std::size_t i = cuts.size(); i < before.size(); ++i) used_.erase(before[i]);
    }
  }

  void merge_matrices() {
    for (char axis : {'m', 'n'}) {
      cuts_[axis] = cuts_of(axis == 'm' ? x_ : y_, axis);
      remove_used(cuts_[axis], used_);
    }
    Dims &rows = cuts_['m'], &columns = cuts_['n'];
    bool keeps_rows = sizes_['m'] >= sizes_['n'];
    Dims& kept = keeps_rows ? rows : columns;
    remove_used(keeps_rows ? columns : rows, {kept.begin(), kept.end()});
    for (const Dims* cuts : {&rows, &columns}) used_.insert(cuts->begin(), cuts->end());
    merge_inner();
  }

  void merge_inner() {
    Dims left = cuts_of(x_, 'k'), right = cuts_of(y_, 'k');
    for (Dims* cuts : {&left, &right}) remove_used(*cuts, used_);
    bool follows_right = measure_of({right}, call_.mesh_shape)
                             .is_followed_rather_than(measure_of({left}, call_.mesh_shape));
    if (follows_right) std::swap(left, right);
    Dims& cuts = cuts_['k'];
    std::set<std::int64_t> used = used_;
    append_new(cuts, left, used);
    append_new(cuts, right, used);
    drop_uneven('k');
  }

  const SpmdCall& call_;
  const ProductOperand& x_;
  const ProductOperand& y_;
  std::map<char, std::int64_t> sizes_;
  std::map<char, Dims> cuts_;
  std::set<std::int64_t> used_;
};

DistAttr ProductCuts::input(const ProductOperand& operand) const {
  DistAttr attr = DistAttr::replicated(operand.axes.size());
  for (std::size_t dim = 0; dim < operand.axes.size(); ++dim)
    if (operand.shape[dim] != 1) attr.dims_mapping[dim] = cuts_.at(operand.axes[dim]);
  return attr;
}

DistAttr ProductCuts::output(const std::string& axes) const {
  DistAttr attr;
  for (char axis : axes) attr.dims_mapping.push_back(cuts_.at(axis));
  for (std::int64_t mesh_dim : cuts_.at('k')) attr.partial_status.emplace(mesh_dim, ReduceOp::sum);
  return attr;
}

ProductCuts merge_product(const SpmdCall& call, const ProductOperand& x, const ProductOperand& y) {
  ProductCuts result;
  result.cuts_ = ProductMerge(call, x, y).run();
  return result;
}

}  // namespace simmesh::paddle
