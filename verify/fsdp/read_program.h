#pragma once

#include "verify/fsdp/program.h"

namespace simmesh {

// read_program reads a list of steps; inputs without a dtype get `dtype`. Fields that hold what is
// expected are passed over. Throws a BadCase for a step or a field that isn't known.
std::vector<ProgramStep> read_program(const CaseField& field, DType dtype);

// read_step reads one step; read_input a tensor that a forward gets.
ProgramStep read_step(const CaseField& field, DType dtype);
InputPlan read_input(const CaseField& field, DType dtype);

}  // namespace simmesh
