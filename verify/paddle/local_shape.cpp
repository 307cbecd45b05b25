#include "checkpoint/paddle/local_box.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/pytorch/case_plan.h"

namespace simmesh {

namespace {

Schema paddle_local_shape_schema() {
  using namespace schema;
  Schema entry = object({expected("shape", shape_schema()), expected("offset", shape_schema())});
  return object({required("mesh", mesh_schema()), required("shape", shape_schema()),
                 required("placements", placements_schema()),
                 expected("local", list(entry, {.min = 1}))});
}

void verify_paddle_local_shape(const RecordedCase& recorded, const VerifyOptions&,
                               CaseReport& report) {
  CaseMesh mesh = read_fitting_mesh(recorded);
  Shape shape = recorded["shape"].shape();
  Placements placements = read_placements(recorded["placements"]);
  std::vector<CaseField> entries = recorded["local"].items();
  if (std::int64_t(entries.size()) != numel(mesh.shape))
    recorded["local"].reject("one entry a coordinate of the mesh");
  Dims coordinate(mesh.shape.size(), 0);
  for (const CaseField& entry : entries) {
    checkpoint::Box box = checkpoint::paddle_local_box(shape, mesh.shape, coordinate, placements);
    std::string who = "coordinate " + to_string(DimSpan(coordinate));
    report.expect_equal(who + ": shape", entry["shape"].shape(), box.sizes);
    report.expect_equal(who + ": offset", entry["offset"].dims(), box.offsets);
    next_index(coordinate, mesh.shape);
  }
}

const CaseKind paddle_local_shape_kind(
    {.name = "paddle_local_shape",
     .summary = "local shape and offset of every rank, as Paddle's checkpoints have them",
     .schema = paddle_local_shape_schema,
     .verifier = verify_paddle_local_shape});

}  // namespace

}  // namespace simmesh
