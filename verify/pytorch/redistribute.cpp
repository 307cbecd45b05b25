#include "verify/pytorch/redistribute.h"

#include <fmt/format.h>

#include "sharding/dtensor.h"
#include "sharding/redistribute_refusals.h"
#include "verify/case_bits.h"
#include "verify/case_mesh.h"
#include "verify/case_world.h"
#include "verify/collective_tally.h"
#include "verify/pytorch/case_plan.h"
#include "verify/pytorch/case_source.h"

namespace simmesh {

namespace {

constexpr std::int64_t redistribute_world_max = 4096;

// What one rank found.
struct RankResult {
  Tensor before;
  Tensor after;
  CollectiveTally collectives;
};

struct RedistributeCase {
  CaseMesh mesh;
  CaseTensor tensor;
  PlanRequest request;
  bool is_local = false;
  std::vector<std::optional<CaseBits>> before;
  std::vector<std::optional<CaseBits>> after;
};

RedistributeCase read_redistribute_case(const RecordedCase& recorded) {
  RedistributeCase result{.mesh = read_mesh(recorded),
                          .tensor = read_tensor(recorded["tensor"]),
                          .request = read_plan_request(recorded)};
  if (result.mesh.world > redistribute_world_max)
    recorded.root().reject(fmt::format("a world of at most {} ranks", redistribute_world_max));
  std::int64_t logical = element_count(result.mesh.shape);
  require_elements(recorded["tensor"], result.tensor.shape, 2 * std::max<std::int64_t>(logical, 1));
  if (auto api = recorded.find("api")) {
    result.is_local = api->text() == "local";
    if (!result.is_local) api->reject("local");
  }
  result.before = read_bits(recorded["before"], result.mesh.world, result.tensor.data.dtype);
  if (!recorded.has("error"))
    result.after = read_bits(recorded["after"], result.mesh.world, result.tensor.data.dtype);
  return result;
}

// The mesh as one rank sees it, with the flattened meshes that the case wants.
DeviceMesh make_mesh(const RedistributeCase& in, std::int64_t rank) {
  DeviceMesh mesh = in.mesh.view(rank);
  for (const Dims& dims : in.request.flattened) {
    std::vector<std::string> names;
    for (std::int64_t dim : dims) names.push_back(mesh.names().at(std::size_t(dim)));
    mesh[DimNames(names)].flatten();
  }
  return mesh;
}

RankResult run_rank(const RedistributeCase& in, const CaseSource& source, PlannerChoice planner,
                    Rank& rank) {
  DeviceMesh mesh = make_mesh(in, rank.id());
  if (!mesh.get_coordinate()) return {};
  RankResult result;
  result.before = source.local(*mesh.get_coordinate());
  DTensor x = from_local(result.before, mesh, in.request.from,
                         {.shape = in.request.shape, .order = in.request.from_order});
  auto counted_before = rank.counters();
  RedistributeOptions options{
      .planner = planner, .order = in.request.to_order, .topology = in.request.topology};
  DTensor y = in.is_local ? x.redistribute_local(in.request.to, options)
                          : x.redistribute(in.request.to, options);
  result.after = y.to_local();
  result.collectives = tally_since(counted_before, rank);
  rank.record(result.after);
  return result;
}

void compare(const RecordedCase& recorded, const RedistributeCase& in, const std::string& who,
             const std::vector<RankResult>& results, CaseReport& report) {
  CollectiveTally collectives = read_tally(recorded["collectives"]);
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    std::string at = fmt::format("{}: rank {}", who, rank);
    const RankResult& result = results[rank];
    if (result.after.is_defined() != in.after[rank].has_value() ||
        in.before[rank].has_value() != in.after[rank].has_value()) {
      report.mismatch(at + ": is it in the mesh?");
      continue;
    }
    if (!in.after[rank]) continue;
    expect_bits(report, at + " before", *in.before[rank], result.before);
    expect_bits(report, at + " after", *in.after[rank], result.after);
    report.expect_equal(at + ": collectives", collectives, result.collectives);
  }
}

// A target that can't be is refused before any rank runs; what the ranks meet is compared as the
// first one's.
std::optional<Error> refusal_of(const RedistributeCase& in, PlannerChoice planner) {
  PlanRequest request = in.request;
  request.planner = planner;
  try {
    if (in.is_local)
      validate_local_redistribute(request);
    else
      validate_redistribute(request);
    validate_steps(make_plan(request), request.mesh_shape);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace

void verify_redistribute(const RecordedCase& recorded, const VerifyOptions& options,
                         CaseReport& report) {
  if (!report.expect_known_fields(recorded["mesh"], mesh_fields)) return;
  RedistributeCase in = read_redistribute_case(recorded);
  auto refusal = recorded.find("error");
  for (PlannerChoice planner : read_planners(recorded["planner"])) {
    std::string who = planner == PlannerChoice::graph ? "graph" : "greedy";
    std::optional<Error> refused = refusal_of(in, planner);
    if (refusal) {
      report.expect_refusal(who, *refusal, refused ? &*refused : nullptr);
      continue;
    }
    if (refused) {
      report.mismatch(fmt::format("{}: refused: {}", who, refused->what()));
      continue;
    }
    PlanRequest request = in.request;
    request.planner = planner;
    expect_steps(report, who, recorded["steps"], make_plan(request));
    CaseSource source(in.tensor, in.mesh.shape, {in.request.from, in.request.from_order});
    std::vector<RankResult> results(std::size_t(in.mesh.world));
    World world(world_options(options, in.mesh.world));
    auto error = run_case(
        world, [&](Rank& rank) { results[rank.id()] = run_rank(in, source, planner, rank); },
        report);
    if (error)
      report.mismatch(fmt::format("{}: refused: {}", who, error->what()));
    else
      compare(recorded, in, who, results, report);
  }
}

}  // namespace simmesh
