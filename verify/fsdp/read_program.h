#pragma once

#include <vector>

#include "verify/fsdp/program.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// StepFields are the fields with the expected results of a step: of any, and of a state dict.
struct StepFields {
  schema::Fields all = {};
  schema::Fields state_dict = {};
  std::size_t steps_min = 1;
};

// program_schema is a list of steps; settings_schema one of steps that set something.
Schema program_schema(const StepFields& expected = {});
Schema settings_schema();
// input_schema is the input of a forward: a tensor, or a part of an earlier output.
// whole_input_schema is the tensor alone.
Schema input_schema();
Schema whole_input_schema();

// read_program reads a list of steps; inputs without a dtype get `dtype`. It skips fields with
// expected results. Raises a BadCase where a step sets a value of another type than the setter's,
// unless the program is one that makes mistakes.
struct ProgramOptions {
  bool makes_mistakes = false;
};
std::vector<ProgramStep> read_program(const CaseField& field, DType dtype,
                                      const ProgramOptions& options = {});

// require_program raises a BadCase where a program on a plan's model takes too much, and where the
// parameters aren't those of the model.
void require_program(const RecordedCase& recorded, const FsdpPlan& plan,
                     const std::vector<ProgramStep>& program);

// read_step reads one step; read_input a tensor that a forward gets.
ProgramStep read_step(const CaseField& field, DType dtype);
InputPlan read_input(const CaseField& field, DType dtype);

}  // namespace simmesh
