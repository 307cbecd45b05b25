#include "sharding/placement/local_shape.h"

#include <fmt/format.h>

#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/pytorch/case_plan.h"

namespace simmesh {

namespace {

constexpr std::int64_t walked_max = 1 << 24;

Schema local_shape_schema() {
  using namespace schema;
  Schema entry =
      object({expected("shape", shape_schema()), expected("offset", list(integer({.min = 0})))});
  return object({required("mesh", mesh_schema()),
                 required("tensor", object({required("shape", shape_schema())})),
                 required("placements", placements_schema()),
                 expected("local", list(entry, {.min = 1})), optional("oracle", yes())});
}

void verify_local_shape(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  CaseMesh mesh = read_fitting_mesh(recorded);
  Shape shape = recorded["tensor"]["shape"].shape();
  Placements placements = read_placements(recorded["placements"]);
  std::vector<CaseField> entries = recorded["local"].items();
  if (std::int64_t(entries.size()) != numel(mesh.shape))
    recorded["local"].reject("one entry a coordinate of the mesh");
  std::int64_t splits = 1;
  for (const Placement& placement : placements) splits += placement.split_factor();
  if (std::int64_t(entries.size()) * splits > walked_max)
    recorded["local"].reject(
        fmt::format("at most {} pieces of strided shards to walk along", walked_max));
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

const CaseKind local_shape_kind({.name = "local_shape",
                                 .summary = "local shape and global offset at every coordinate",
                                 .schema = local_shape_schema,
                                 .verifier = verify_local_shape});

}  // namespace

}  // namespace simmesh
