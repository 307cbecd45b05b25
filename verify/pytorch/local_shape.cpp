#include "verify/pytorch/local_shape.h"

#include "sharding/local_shape.h"
#include "verify/case_mesh.h"
#include "verify/pytorch/case_plan.h"

namespace simmesh {

void verify_local_shape(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  CaseMesh mesh = read_mesh(recorded);
  Shape shape = recorded["tensor"]["shape"].shape();
  Placements placements = read_placements(recorded["placements"]);
  std::vector<CaseField> entries = recorded["local"].items();
  if (std::int64_t(entries.size()) != element_count(mesh.shape))
    recorded["local"].reject("one entry a coordinate of the mesh");
  Dims coordinate(mesh.shape.size(), 0);
  for (const CaseField& entry : entries) {
    LocalShape local =
        compute_local_shape_and_global_offset(shape, mesh.shape, coordinate, placements);
    std::string who = "coordinate " + to_string(DimSpan(coordinate));
    report.expect_equal(who + ": shape", entry["shape"].shape(), local.shape);
    report.expect_equal(who + ": offset", entry["offset"].dims(), local.offset);
    for (std::int64_t size : local.shape) report.fold_data(std::uint64_t(size));
    for (std::int64_t offset : local.offset) report.fold_data(std::uint64_t(offset));
    next_index(coordinate, mesh.shape);
  }
}

}  // namespace simmesh
