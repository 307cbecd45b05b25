#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/recorded_case.h"
#include "verify/typed/typed_case.h"

namespace simmesh {

// TypedValue is a value of a program. Names of one tensor share it, so that a write through one of
// them changes all.
struct TypedValue {
  typed::TypedTensor tensor;
  DType dtype = DType::float32;
};

// TypedStep is a call of a program. Its operands are filled in as it runs.
struct TypedStep {
  std::optional<std::string> out;  // nullopt for a call without a result
  TypedCall call;
  std::vector<std::optional<std::string>> in;  // names; nullopt for a number
  TypedOutcome outcome = {};

  // writes_operand is true where the result is the step's own first operand.
  bool writes_operand() const;
};

// TypedProgram is a program of calls on typed tensors, in which a step's result is its name.
struct TypedProgram {
  typed::TypingContext context;
  std::vector<std::string> inputs;
  std::map<std::string, std::shared_ptr<TypedValue>> values;
  std::vector<TypedStep> steps;
  std::size_t steps_done = 0;

  // value returns the value of a name. Raises a KeyError for an unknown one.
  const std::shared_ptr<TypedValue>& value(const std::string& name) const;
  // run types the steps in order. Raises the TypeRefusal of the first that is refused; steps_done
  // is then its index.
  void run();
};

// program_fields are the fields mesh, inputs and steps; read_program reads them.
schema::Fields program_fields();
TypedProgram read_program(const RecordedCase& recorded);

}  // namespace simmesh
