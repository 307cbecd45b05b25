#pragma once

#include "replay/job/trace_job.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// check_tensors checks the defined tensors of one rank, and adds to findings:
// - shape_missing (warning): the shape is empty, but there isn't one element: PyTorch writes so
// what has symbolic sizes;
// - numel: the number of elements isn't the product of the shape;
// - item_size: the bytes an element aren't those of the dtype;
// - strides: not one a dim;
// - view_bounds: the view begins before its storage, or ends beyond what 64 bits count.
// A storage's id may come again for another one, of another size or dtype, once it is freed; so
// views of one id aren't compared. O(tensors).
void check_tensors(const RankTrace& rank, Findings& findings);

}  // namespace simmesh::replay
