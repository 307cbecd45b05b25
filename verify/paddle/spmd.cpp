#include <optional>

#include "core/check/join_text.h"
#include "sharding/paddle/spmd/spmd_rules.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/paddle/case_layout.h"
#include "verify/paddle/spmd_signature.h"

namespace simmesh {

namespace {

constexpr std::size_t spmd_tensors_max = 64;

Schema spmd_schema() {
  using namespace schema;
  Fields tensor_fields = layout_fields();
  tensor_fields.push_back(required("shape", shape_schema()));
  Schema tensor = object(tensor_fields);
  Fields answer_fields = layout_fields();
  for (Field& field : answer_fields) field.is_expected = true;
  Schema layout = object(answer_fields);
  Schema layouts = list(either({layout, list(layout)}));
  Schema attribute = either({flag(), integer(), number(), any_text(), list(integer())});
  return object(
      {required("op", text()),
       required("mesh", object({required("shape", list(integer({.min = 1, .max = 1 << 20}),
                                                       {.min = 1, .max = 16}))})),
       required("inputs", list(either({tensor, list(tensor, {.max = spmd_tensors_max})}),
                               {.max = spmd_tensors_max})),
       required("attrs", list(attribute, {.max = spmd_tensors_max})),
       expected("inferred_inputs", layouts).unless("refused"),
       expected("outputs", layouts).unless("refused"),
       expected("refused", refusal_schema()).or_absent()});
}

paddle::SpmdTensor read_spmd_tensor(const CaseField& field) {
  return {.shape = field["shape"].shape(), .attr = read_paddle_layout(field)};
}

paddle::SpmdAttribute read_spmd_attribute(const CaseField& field) {
  if (field.is_boolean()) return field.boolean();
  if (field.is_integer()) return field.integer();
  if (field.is_text()) return field.text();
  if (field.is_list()) return field.integers();
  return field.number();
}

paddle::SpmdCall read_spmd_call(const RecordedCase& recorded) {
  require_spmd_signature(recorded["op"].text(), recorded["inputs"], recorded["attrs"]);
  paddle::SpmdCall call{
      .op = recorded["op"].text(), .mesh_shape = recorded["mesh"]["shape"].dims(), .inputs = {}};
  std::int64_t ranks = 1;
  for (std::int64_t size : call.mesh_shape)
    if (ranks *= size; ranks > world_max) recorded["mesh"].reject("fewer ranks");
  for (const CaseField& input : recorded["inputs"].items()) {
    if (!input.is_list()) {
      call.inputs.emplace_back(read_spmd_tensor(input));
      continue;
    }
    std::vector<paddle::SpmdTensor> tensors;
    for (const CaseField& tensor : input.items()) tensors.push_back(read_spmd_tensor(tensor));
    call.inputs.emplace_back(std::move(tensors));
  }
  for (const CaseField& attribute : recorded["attrs"].items())
    call.attributes.push_back(read_spmd_attribute(attribute));
  return call;
}

std::string layout_text(const paddle::SpmdLayout& layout) {
  std::vector<std::string> texts;
  for (const paddle::DistAttr& attr : layout.attrs) texts.push_back(paddle::to_string(attr));
  std::string joined = join_text(texts, "; ");
  return layout.is_list ? fmt::format("({})", joined) : joined;
}

void expect_layouts(CaseReport& report, std::string_view what, const CaseField& expected,
                    const std::vector<paddle::SpmdLayout>& actual) {
  std::vector<std::string> wanted, found;
  for (const CaseField& entry : expected.items()) {
    if (!entry.is_list()) {
      wanted.push_back(layout_text(read_paddle_layout(entry)));
      continue;
    }
    std::vector<paddle::DistAttr> attrs;
    for (const CaseField& layout : entry.items()) attrs.push_back(read_paddle_layout(layout));
    wanted.push_back(layout_text(attrs));
  }
  for (const paddle::SpmdLayout& layout : actual) found.push_back(layout_text(layout));
  report.expect_equal(what, wanted, found);
}

void verify_paddle_spmd(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  paddle::SpmdCall call = read_spmd_call(recorded);
  std::optional<paddle::SpmdAnswer> answer;
  std::optional<Error> refusal;
  try {
    answer = paddle::infer_spmd(call);
  } catch (const Error& error) {
    refusal = error;
  }
  if (auto refused = recorded.find("refused"))
    return report.expect_refusal(call.op, *refused, refusal ? &*refusal : nullptr);
  if (refusal) return report.mismatch(fmt::format("{}: refused: {}", call.op, refusal->what()));
  expect_layouts(report, "inferred_inputs", recorded["inferred_inputs"], answer->inputs);
  expect_layouts(report, "outputs", recorded["outputs"], answer->outputs);
}

const CaseKind paddle_spmd_kind(
    {.name = "paddle_spmd",
     .summary = "how an op wants its inputs and how its outputs lie, or the refusal",
     .schema = spmd_schema,
     .verifier = verify_paddle_spmd});

}  // namespace

}  // namespace simmesh
