#include <algorithm>
#include <fmt/format.h>

#include "sharding/dtensor/dtensor.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_world.h"
#include "verify/collective_tally.h"
#include "verify/pytorch/case_plan.h"
#include "verify/pytorch/case_source.h"

namespace simmesh {

namespace {

constexpr std::int64_t redistribute_world_max = 4096;

Schema redistribute_schema() {
  using namespace schema;
  Fields fields = plan_fields(tensor_schema());
  Fields own = {optional("world", world_schema()),
                optional("api", word({"local"})),
                expected("before", bits_schema()),
                expected("steps", steps_schema()).unless("error"),
                expected("collectives", tally_schema()).unless("error"),
                expected("after", bits_schema()).unless("error"),
                expected("error", refusal_schema()).or_absent(),
                optional("oracle", yes())};
  fields.insert(fields.end(), own.begin(), own.end());
  return object(std::move(fields));
}

// The result of one rank; empty on a rank outside the mesh.
struct RankResult {
  Tensor before;
  Tensor after;
  CollectiveTally collectives;
  std::shared_ptr<const Plan> plan;
  std::optional<Error> refusal;
};

struct RedistributeCase {
  CaseMesh mesh;
  CaseTensor tensor;
  PlanRequest request;
  bool is_local = false;
  std::vector<std::optional<CaseBits>> before;
  std::vector<std::optional<CaseBits>> after;
};

RedistributeCase read_redistribute_case(const RecordedCase& recorded,
                                        const VerifyOptions& options) {
  RedistributeCase result{.mesh = read_fitting_mesh(recorded),
                          .tensor = read_tensor(recorded["tensor"]),
                          .request = read_plan_request(recorded, options)};
  if (result.mesh.world > redistribute_world_max)
    recorded.root().reject(fmt::format("a world of at most {} ranks", redistribute_world_max));
  std::int64_t logical = numel(result.mesh.shape);
  require_elements(recorded["tensor"], result.tensor.shape, 2 * std::max<std::int64_t>(logical, 1));
  require_pieces(recorded, result.mesh.world);
  result.is_local = recorded.has("api");
  result.before = read_bits(recorded["before"], result.mesh.world, result.tensor.data.dtype);
  if (!recorded.has("error"))
    result.after = read_bits(recorded["after"], result.mesh.world, result.tensor.data.dtype);
  return result;
}

// Returns the mesh as one rank sees it, with the flattened meshes that the case needs.
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
  RedistributeOptions options{
      .planner = planner, .order = in.request.to_order, .topology = in.request.topology};
  auto counted_before = rank.counters();
  try {
    DTensor y = in.is_local ? x.redistribute_local(in.request.to, options)
                            : x.redistribute(in.request.to, options);
    result.after = y.to_local();
  } catch (const Error& error) {
    result.refusal = error;
    return result;
  }
  result.collectives = tally_since(counted_before, rank);
  result.plan = x.redistribute_plan(in.request.to, options);
  rank.record(result.after);
  return result;
}

// Returns whether the rank and its entry agree on its being in the mesh, and compares the source.
bool compare_source(const std::optional<CaseBits>& before, const RankResult& result,
                    const std::string& at, CaseReport& report) {
  if (before.has_value() != result.before.is_defined())
    report.mismatch(at + ": is it in the mesh?");
  else if (before)
    expect_bits(report, at + " before", *before, result.before);
  return before && result.before.is_defined();
}

void compare(const RecordedCase& recorded, const RedistributeCase& in, const std::string& who,
             const std::vector<RankResult>& results, CaseReport& report) {
  CollectiveTally collectives = read_tally(recorded["collectives"]);
  const Plan* first_plan = nullptr;
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    std::string at = fmt::format("{}: rank {}", who, rank);
    const RankResult& result = results[rank];
    if (result.refusal) {
      report.mismatch(fmt::format("{}: refused: {}", at, result.refusal->what()));
      continue;
    }
    if (in.before[rank].has_value() != in.after[rank].has_value())
      report.mismatch(at + ": is it in the mesh?");
    if (!compare_source(in.before[rank], result, at, report) || !in.after[rank]) continue;
    expect_bits(report, at + " after", *in.after[rank], result.after);
    report.expect_equal(at + ": collectives", collectives, result.collectives);
    if (first_plan == nullptr) {
      first_plan = result.plan.get();
      expect_steps(report, who, recorded["steps"], *first_plan);
    } else if (first_plan != result.plan.get() && *first_plan != *result.plan) {
      report.mismatch(at + ": expected the plan of the ranks before it, got another one");
    }
  }
  if (first_plan == nullptr) report.mismatch(who + ": expected a rank in the mesh, got none");
}

// Every rank of the mesh is refused.
void compare_refusals(const RecordedCase& recorded, const RedistributeCase& in,
                      const std::string& who, const std::vector<RankResult>& results,
                      CaseReport& report) {
  bool met = false;
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    std::string at = fmt::format("{}: rank {}", who, rank);
    const RankResult& result = results[rank];
    if (!compare_source(in.before[rank], result, at, report)) continue;
    met = true;
    report.expect_refusal(at, recorded["error"], result.refusal ? &*result.refusal : nullptr);
  }
  if (!met) report.mismatch(who + ": expected a rank in the mesh, got none");
}

void verify_redistribute(const RecordedCase& recorded, const VerifyOptions& options,
                         CaseReport& report) {
  RedistributeCase in = read_redistribute_case(recorded, options);
  bool is_refused = recorded.has("error");
  for (PlannerChoice planner : read_planners(recorded["planner"])) {
    std::string who = planner == PlannerChoice::graph ? "graph" : "greedy";
    CaseSource source(in.tensor, in.mesh.shape, {in.request.from, in.request.from_order});
    std::vector<RankResult> results(std::size_t(in.mesh.world));
    World world(world_options(options, in.mesh.world));
    // A refused call has no data to hash.
    CaseReport unhashed;
    CaseReport& run = is_refused ? unhashed : report;
    std::int64_t mismatches = run.mismatch_count();
    auto error = run_case(
        world, [&](Rank& rank) { results[rank.id()] = run_rank(in, source, planner, rank); }, run);
    if (error) run.mismatch(fmt::format("{}: refused: {}", who, error->what()));
    for (const std::string& mismatch : unhashed.mismatches()) report.mismatch(mismatch);
    if (run.mismatch_count() > mismatches) continue;
    if (is_refused)
      compare_refusals(recorded, in, who, results, report);
    else
      compare(recorded, in, who, results, report);
  }
}

const CaseKind redistribute_kind(
    {.name = "redistribute",
     .summary = "steps, number of collectives, the bits of every rank before and after, or the "
                "refusal, for each planner that the case names",
     .schema = redistribute_schema,
     .verifier = verify_redistribute});

}  // namespace

}  // namespace simmesh
