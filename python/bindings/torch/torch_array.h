#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <vector>

#include "collectives/host_memory.h"
#include "core/arithmetic/companions/element_array.h"
#include "core/arithmetic/reductions/reduce_op.h"

namespace simmesh::python {

// The memory layout of objects such as CPU tensors of PyTorch, with data_ptr(), shape, stride() and
// dtype. A dtype that simmesh doesn't have is carried by one of as many bytes, and a complex one by
// its two parts, which are one dim more.

// torch_array describes a tensor whose elements are moved.
HostArray torch_array(nanobind::handle tensor);

// torch_array describes an operand or a result of a reduction. Raises a TypeError for a dtype in
// which it isn't defined.
HostArray torch_array(nanobind::handle tensor, ReduceOp reduce);

// element_array describes a floating or complex tensor; the two parts of a complex element are two
// elements. Raises a TypeError for another dtype.
ElementArray element_array(nanobind::handle tensor);

// holds_floats is true for a floating or complex tensor.
bool holds_floats(nanobind::handle tensor);

// index_list copies a tensor of int64. Raises a TypeError for another dtype.
std::vector<std::int64_t> index_list(nanobind::handle tensor);

// torch_dtypes names the dtypes of tensors, one of which simmesh doesn't have: "int8 and bool";
// null where there is none. The text lives as long as the process.
const char* torch_dtypes(const nanobind::list& tensors);

}  // namespace simmesh::python
