#include "sharding/paddle/mesh_dim_fallback.h"
#include "sharding/paddle/optimizer_state_layout.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/paddle/case_layout.h"

namespace simmesh {

namespace {

Schema fallback_schema() {
  using namespace schema;
  Schema mesh_dim = integer({.min = 0, .max = case_mesh_dims_max - 1});
  Schema warning =
      object({expected("tensor_dim", integer({.min = 0})), expected("shards", integer({.min = 2})),
              expected("mesh_dim", mesh_dim)});
  return object_by(
      "what",
      {{"optimizer_state",
        {required("shape", shape_schema()), required("placements", paddle_placements_schema()),
         required("sharding_dim", mesh_dim),
         expected("chosen", paddle_placements_schema()).unless("error"),
         expected("error", refusal_schema()).or_absent()}},
       {"one_mesh_dim",
        {required("multi_dims_mapping", list(list(mesh_dim), {.max = std::size_t(dims_max)})),
         expected("dims_mapping", list(integer({.min = -1}))),
         expected("warnings", list(warning))}}},
      {required("mesh", object({required("shape", list(integer({.min = 1, .max = 1 << 20}),
                                                       {.min = 1, .max = 16}))}))});
}

std::vector<std::string> paddle_words(PlacementSpan placements) {
  std::vector<std::string> words;
  for (const Placement& placement : placements) words.push_back(paddle::to_word(placement));
  return words;
}

void verify_optimizer_state(const RecordedCase& recorded, std::size_t mesh_dims,
                            CaseReport& report) {
  Placements parameter = read_paddle_placements(recorded["placements"]);
  if (parameter.size() != mesh_dims) recorded["placements"].reject("one placement a mesh dim");
  std::int64_t tensor_dims = std::int64_t(recorded["shape"].size());
  std::int64_t sharding_dim = recorded["sharding_dim"].integer();
  auto choose = [&] {
    return paddle::optimizer_state_layout(parameter, tensor_dims, sharding_dim);
  };
  if (auto error = recorded.find("error"))
    return report.expect_refusal("optimizer_state", *error, [&] { choose(); });
  report.expect_equal("chosen", paddle_words(read_paddle_placements(recorded["chosen"])),
                      paddle_words(choose()));
}

void verify_one_mesh_dim(const RecordedCase& recorded, DimSpan mesh_shape, CaseReport& report) {
  CaseField field = recorded["multi_dims_mapping"];
  paddle::DistAttr attr;
  for (const CaseField& cuts : field.items()) attr.dims_mapping.push_back(cuts.dims());
  try {
    paddle::require_valid(attr, attr.dims_mapping.size(), mesh_shape.size(), "paddle_fallback");
  } catch (const Error& error) {
    field.reject("each mesh dim of the mesh at most once");
  }
  paddle::OneMeshDim actual = paddle::one_mesh_dim(attr.dims_mapping, mesh_shape);
  std::vector<std::string> expected_warnings, warnings;
  for (const CaseField& warning : recorded["warnings"].items())
    expected_warnings.push_back(
        to_string(paddle::FallbackWarning{.tensor_dim = warning["tensor_dim"].integer(),
                                          .shards = warning["shards"].integer(),
                                          .mesh_dim = warning["mesh_dim"].integer()}));
  for (const paddle::FallbackWarning& warning : actual.warnings)
    warnings.push_back(to_string(warning));
  report.expect_equal("dims_mapping", recorded["dims_mapping"].dims(), actual.dims_mapping);
  report.expect_equal("warnings", expected_warnings, warnings);
}

void verify_paddle_fallback(const RecordedCase& recorded, const VerifyOptions&,
                            CaseReport& report) {
  Dims mesh_shape = recorded["mesh"]["shape"].dims();
  if (recorded["what"].text() == "optimizer_state")
    return verify_optimizer_state(recorded, mesh_shape.size(), report);
  verify_one_mesh_dim(recorded, mesh_shape, report);
}

const CaseKind paddle_fallback_kind(
    {.name = "paddle_fallback",
     .summary = "layout of optimiser states, and which of several mesh dims an op is told",
     .schema = fallback_schema,
     .verifier = verify_paddle_fallback});

}  // namespace

}  // namespace simmesh
