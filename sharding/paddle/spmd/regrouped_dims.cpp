#include "sharding/paddle/spmd/regrouped_dims.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::paddle {

namespace {

// GroupReader takes dims from one side until the sizes of both are equal.
class GroupReader {
 public:
  explicit GroupReader(DimSpan shape) : shape_(shape) {}

  bool is_done() const { return next_ == shape_.size(); }
  std::int64_t next_size() const { return is_done() ? 1 : shape_[next_]; }

  // Adds the next dim to the group and returns its size. A size of 1 is left out unless it is kept.
  std::int64_t take(std::vector<std::size_t>& group, bool keeps_one) {
    std::int64_t size = shape_[next_];
    if (size != 1 || keeps_one) group.push_back(next_);
    ++next_;
    return size;
  }

 private:
  DimSpan shape_;
  std::size_t next_ = 0;
};

}  // namespace

Shape reshape_target(DimSpan shape, const std::vector<std::int64_t>& asked) {
  std::int64_t all = numel(shape), known = 1;
  Shape target;
  std::size_t open = asked.size();
  for (std::size_t dim = 0; dim < asked.size(); ++dim) {
    std::int64_t size = asked[dim];
    if (size == 0 && dim < shape.size()) size = shape[dim];
    target.push_back(size);
    if (size == -1 && open == asked.size())
      open = dim;
    else
      known = size < 1 || known > all / size ? 0 : known * size;
  }
  bool fits = known > 0 && (open < asked.size() ? all % known == 0 : all == known);
  if (!fits)
    raise(ErrorKind::value_error, "sharding/paddle", "expected a shape of {} elements, got [{}]",
          all, join_text(asked, ", "));
  if (open < asked.size()) target[open] = all / known;
  return target;
}

std::vector<DimGroup> reshape_groups(DimSpan from, DimSpan to) {
  std::vector<DimGroup> groups;
  GroupReader inputs(from), outputs(to);
  while (!inputs.is_done() || !outputs.is_done()) {
    DimGroup group;
    bool is_one_left = inputs.next_size() == 1 && !inputs.is_done();
    bool is_one_right = outputs.next_size() == 1 && !outputs.is_done();
    if (is_one_left || is_one_right) {
      if (is_one_left) inputs.take(group.inputs, is_one_right);
      if (is_one_right) outputs.take(group.outputs, true);
    } else {
      std::int64_t left = inputs.take(group.inputs, false);
      std::int64_t right = outputs.take(group.outputs, true);
      while (left != right) {
        if (left < right)
          left *= inputs.take(group.inputs, false);
        else
          right *= outputs.take(group.outputs, true);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace simmesh::paddle
