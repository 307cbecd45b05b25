#include "sharding/paddle/spmd/axis_merge.h"

#include <algorithm>

#include "core/check/join_text.h"

namespace simmesh::paddle {

namespace {

std::vector<std::string> names_of(std::string_view axes) {
  std::vector<std::string> names;
  for (char axis : axes) names.emplace_back(1, axis);
  return names;
}

}  // namespace

// AxisMerge is the state of a merge.
class AxisMerge {
 public:
  explicit AxisMerge(const SpmdCall& call) : call_(call) {}

  void add(const AxisOperand& operand) {
    if (operand.axes.size() != operand.mesh_dims.size())
      refuse_argument(call_, "expected a tensor of {} dims, got {}", operand.axes.size(),
                      operand.mesh_dims.size());
    for (std::size_t dim = 0; dim < operand.axes.size(); ++dim)
      cut(operand.axes[dim], operand.mesh_dims[dim]);
  }

  void keep_first_axis() {
    for (const MeshDimAxes& cut : cuts_)
      for (char axis : cut.axes.substr(1)) result_.mesh_dims_[axis] = -1;
  }

  // The mesh dim that was met last is named first.
  void refuse_second_axis() const {
    for (auto cut = cuts_.rbegin(); cut != cuts_.rend(); ++cut)
      if (cut->axes.size() > 1)
        raise(
            ErrorKind::runtime_error, "sharding/paddle",
            "{}: (PreconditionNotMet) Multiple Tensor Axes [{}] is sharded by same mesh dimension "
            "[{}].",
            call_.op, join_text(names_of(cut->axes), ","), cut->mesh_dim);
  }

  AxisMeshDims result() const { return result_; }

 private:
  // The axes that each mesh dim cuts; both in the order in which they were met.
  struct MeshDimAxes {
    std::int64_t mesh_dim;
    std::string axes;
  };

  void cut(char axis, std::int64_t mesh_dim) {
    auto [found, is_new] = result_.mesh_dims_.emplace(axis, mesh_dim);
    if (!is_new && mesh_dim != found->second && mesh_dim >= 0) {
      if (found->second >= 0)
        refuse_unimplemented(
            call_, "Tensor Axis[{}] is Sharded by two different mesh dimension [{}] and [{}].",
            axis, mesh_dim, found->second);
      found->second = mesh_dim;
    }
    if (found->second < 0) return;
    std::string& axes = axes_of(found->second);
    if (axes.find(axis) == std::string::npos) axes += axis;
  }

  std::string& axes_of(std::int64_t mesh_dim) {
    for (MeshDimAxes& cut : cuts_)
      if (cut.mesh_dim == mesh_dim) return cut.axes;
    cuts_.push_back({mesh_dim, ""});
    return cuts_.back().axes;
  }

  const SpmdCall& call_;
  AxisMeshDims result_;
  std::vector<MeshDimAxes> cuts_;
};

std::int64_t AxisMeshDims::at(char axis) const {
  auto found = mesh_dims_.find(axis);
  return axis == '1' || found == mesh_dims_.end() ? -1 : found->second;
}

Dims AxisMeshDims::layout(std::string_view axes) const {
  Dims layout;
  for (char axis : axes) layout.push_back(at(axis));
  return layout;
}

DistAttr AxisMeshDims::partial_attr(std::string_view axes, ReduceOp op) const {
  DistAttr result = attr(axes);
  for (const auto& [axis, mesh_dim] : mesh_dims_)
    if (mesh_dim >= 0 && axes.find(axis) == std::string_view::npos)
      result.partial_status.emplace(mesh_dim, op);
  return result;
}

AxisMeshDims merge_axes(const SpmdCall& call, const std::vector<AxisOperand>& operands) {
  AxisMerge merge(call);
  for (const AxisOperand& operand : operands) merge.add(operand);
  merge.keep_first_axis();
  return merge.result();
}

AxisMeshDims merge_axes_strictly(const SpmdCall& call, const std::vector<AxisOperand>& operands) {
  AxisMerge merge(call);
  for (const AxisOperand& operand : operands) merge.add(operand);
  merge.refuse_second_axis();
  return merge.result();
}

std::string letters(std::size_t count) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz";
  if (count > alphabet.size())
    raise(ErrorKind::value_error, "sharding/paddle", "expected at most {} dims, got {}",
          alphabet.size(), count);
  return std::string(alphabet.substr(0, count));
}

std::string broadcast_letters(DimSpan shape, std::size_t dims) {
  std::string axes = letters(dims).substr(dims - std::min(dims, shape.size()));
  for (std::size_t dim = 0; dim < axes.size(); ++dim)
    if (shape[dim] == 1) axes[dim] = '1';
  return axes;
}

}  // namespace simmesh::paddle
