#include "sharding/dtensor/local_boxes.h"

#include "sharding/placement/local_shape.h"

namespace simmesh {

namespace {

// Repeats each box for each run of one more dim.
std::vector<LocalBox> crossed(const std::vector<LocalBox>& boxes, const IndexRuns& runs) {
  std::vector<LocalBox> result;
  for (const LocalBox& box : boxes) {
    std::int64_t local = 0;
    for (const IndexRun& run : runs) {
      LocalBox& longer = result.emplace_back(box);
      longer.shape.push_back(run.length);
      longer.local_offset.push_back(local);
      longer.global_offset.push_back(run.start);
      local += run.length;
    }
  }
  return result;
}

}  // namespace

std::vector<LocalBox> local_boxes(const DTensorSpec& spec, DimSpan coordinate) {
  std::vector<LocalBox> boxes(1);
  for (std::size_t dim = 0; dim < spec.shape.size(); ++dim)
    boxes = crossed(boxes, local_index_runs(spec.shape, std::int64_t(dim), spec.mesh().shape(),
                                            coordinate, spec.placements(), spec.sharding.order));
  return boxes;
}

std::vector<LocalBox> local_boxes(const DTensorSpec& spec) {
  return local_boxes(spec, spec.groups->coordinate());
}

}  // namespace simmesh
