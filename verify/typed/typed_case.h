#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sharding/typed/conversion.h"
#include "sharding/typed/local_rule.h"
#include "verify/case_report.h"
#include "verify/pytorch/ops/python_value.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// TypedOperand is an operand of a call: a tensor, or a number of Python.
struct TypedOperand {
  typed::LocalOperand local = {};
  DType dtype = DType::float32;
  double number = 0;
};

// TypedCall is one call of a case of spmd_types: its name and what it is called with.
struct TypedCall {
  std::string op;
  std::vector<std::string> axes = {};                    // of a collective or a conversion
  std::map<std::string, PythonValue> args = {};          // all that aren't types
  std::map<std::string, typed::TypeOnAxis> types = {};   // the arguments src and dst
  std::map<std::string, typed::TypeOnAxis> stated = {};  // the argument type of assert_type
  std::vector<TypedOperand> operands = {};

  // is_local is true for an operation that doesn't communicate, as those of torch are.
  bool is_local() const;
  // conversion returns the call as a conversion or a collective. Raises a ValueError where src or
  // dst is missing.
  typed::Conversion conversion() const;
};

// TypedOutcome is the result of a call.
struct TypedOutcome {
  std::vector<typed::TypedTensor> results = {};
  std::optional<std::size_t> written = {};  // the operand that the call writes
  bool is_same_tensor = false;              // the call returns its operand
  std::vector<typed::BackwardCall> backward = {};
};

// run_typed types a call. The shapes of an operation's results are those of running it on zeros.
// Raises a TypeRefusal, and the errors of the operation itself.
TypedOutcome run_typed(const TypedCall& call, const typed::TypingContext& context);

// typed_mesh_schema is a mesh with a name for each axis; read_axes reads it.
Schema typed_mesh_schema();
std::vector<typed::MeshAxis> read_axes(const CaseField& field);
// rank_count is the number of ranks of a mesh.
std::int64_t rank_count(const std::vector<typed::MeshAxis>& axes);

// type_schema is a type on an axis, types_schema an object of them by axis, or null for a tensor
// that was never annotated.
Schema type_schema();
Schema types_schema();
typed::TypeOnAxis read_type(const CaseField& field);
// read_types gives a tensor the types of a field.
void read_types(const CaseField& field, typed::TypedTensor& tensor);

// call_fields are the fields op, axis and args of a call; read_call reads them.
schema::Fields call_fields();
TypedCall read_call(const CaseField& field);

// types_text returns types as a report shows them: "{dp: R, tp: V}", or "null".
std::string types_text(const std::optional<typed::AxisTypes>& types);

// type_refusal_schema is a recorded refusal; compare_refusal compares it with the error of a call,
// null where the call was accepted.
Schema type_refusal_schema(schema::Fields further = {});
void compare_refusal(CaseReport& report, const CaseField& expected, const Error* actual);

}  // namespace simmesh
