#include <fmt/format.h>
#include <map>

#include "sharding/typed/type_refusal.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"
#include "verify/typed/program_values.h"
#include "verify/typed/typed_program.h"

namespace simmesh {

namespace {

using Texts = std::map<std::string, std::string>;

Schema type_program_schema() {
  using namespace schema;
  Fields fields = program_fields();
  for (Field& field :
       Fields{label("template", text()).or_absent(), label("changes", list(text())).or_absent(),
              expected("types", map(types_schema())), expected("shapes", map(shape_schema())),
              expected("grad_types", map(types_schema())),
              expected("refused", type_refusal_schema({expected("step", integer({.min = 0}))}))
                  .or_absent(),
              expected("values", word({"agree", "disagree"})).or_absent("values are not compared")})
    fields.push_back(std::move(field));
  return object(std::move(fields));
}

void compare_names(CaseReport& report, const std::string& what, const Texts& expected,
                   const Texts& actual) {
  for (const auto& [name, text] : expected) {
    auto found = actual.find(name);
    report.expect_equal(fmt::format("{} of {}", what, name), text,
                        found == actual.end() ? std::string("none") : found->second);
  }
  for (const auto& [name, text] : actual)
    if (expected.count(name) == 0)
      report.mismatch(fmt::format("{} of {}: expected none, got {}", what, name, text));
}

Texts recorded_types(const CaseField& field) {
  Texts texts;
  for (const std::string& name : field.keys()) {
    typed::TypedTensor tensor;
    read_types(field[name], tensor);
    texts[name] = types_text(tensor.types);
  }
  return texts;
}

Texts recorded_shapes(const CaseField& field) {
  Texts texts;
  for (const std::string& name : field.keys()) texts[name] = to_string(field[name].shape());
  return texts;
}

void compare_types(CaseReport& report, const RecordedCase& recorded, const TypedProgram& program) {
  Texts types, grad_types, shapes;
  for (const auto& [name, value] : program.values) {
    types[name] = types_text(value->tensor.types);
    if (value->tensor.requires_grad && value->tensor.types)
      grad_types[name] = types_text(typed::dual_of(*value->tensor.types));
  }
  for (std::size_t i = 0; i < program.steps_done; ++i)
    if (const auto& out = program.steps[i].out)
      shapes[*out] = to_string(program.value(*out)->tensor.shape);
  compare_names(report, "types", recorded_types(recorded["types"]), types);
  compare_names(report, "types of the gradient", recorded_types(recorded["grad_types"]),
                grad_types);
  compare_names(report, "shape", recorded_shapes(recorded["shapes"]), shapes);
}

// Values contradict types in some programs on record, which are disputed. Such a program is a
// failure with its counter-example, whatever the record says.
void compare_values(CaseReport& report, const RecordedCase& recorded, const TypedProgram& program) {
  auto found = program_counter_example(program);
  if (found) report.mismatch("refuted by values: " + *found);
  auto values = recorded.find("values");
  if (values && values->text() == "disagree" && !found)
    report.mismatch("values: expected a counter-example, got none");
}

void verify_type_program(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  TypedProgram program = read_program(recorded);
  auto refused = recorded.find("refused");
  try {
    program.run();
    if (refused) compare_refusal(report, *refused, nullptr);
  } catch (const typed::TypeRefusal& refusal) {
    if (!refused) throw;
    compare_refusal(report, *refused, &refusal);
    report.expect_equal("refused step", (*refused)["step"].integer(),
                        std::int64_t(program.steps_done));
  }
  compare_types(report, recorded, program);
  compare_values(report, recorded, program);
}

const CaseKind type_program_kind({.name = "type_program",
                                  .summary = "the types of all values of a program on typed "
                                             "tensors, as spmd_types has them; ranks' values and "
                                             "gradients are those that the types promise",
                                  .schema = type_program_schema,
                                  .verifier = verify_type_program});

}  // namespace

}  // namespace simmesh
