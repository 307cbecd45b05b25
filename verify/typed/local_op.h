#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "verify/pytorch/ops/python_value.h"

namespace simmesh {

// run_local_op computes an operation of the cases of spmd_types on plain tensors, by its name
// there: that of torch, with a suffix for a form of it ("add_scalar", "cat3", "alias_getitem").
// Operands are tensors or numbers, in the order of the call. One in place leaves them as they are
// and returns its result. Random numbers are drawn from the seed. Raises a NotImplementedError for
// an unknown name.
std::vector<Tensor> run_local_op(const std::string& op, std::vector<PythonValue> operands,
                                 std::map<std::string, PythonValue> args, std::uint64_t seed = 0);

// draws_numbers is true for an operation that draws random numbers.
bool draws_numbers(std::string_view op);

}  // namespace simmesh
