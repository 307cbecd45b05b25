#include <algorithm>
#include <fmt/format.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "sharding/api/dtensor_gradient.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_world.h"
#include "verify/collective_tally.h"
#include "verify/pytorch/case_plan.h"
#include "verify/pytorch/case_source.h"

namespace simmesh {

namespace {

constexpr std::int64_t grad_ranks_max = 4096;

Schema grad_schema() {
  using namespace schema;
  return object_by(
      "end", {{"full_tensor", {}}, {"to_local", {optional("to", placements_schema())}}},
      {required("mesh", mesh_schema()), optional("world", world_schema()),
       required("tensor", tensor_schema()), required("from", placements_schema()),
       required("leaf", word({"local", "dtensor"})), optional("grad_given", placements_schema()),
       required("gradient", tensor_schema()), expected("before", bits_schema()).unless("error"),
       expected("after", bits_schema()).unless("error"),
       expected("grad_placements", placements_schema()).or_absent(),
       expected("collectives", tally_schema()).unless("error"),
       expected("error", refusal_schema()).or_absent(), optional("oracle", yes())});
}

struct GradCase {
  CaseMesh mesh;
  CaseTensor tensor, gradient;
  Placements from, to, incoming;
  std::optional<Placements> given;
  bool is_leaf_local = false, is_full = false;
  std::vector<std::optional<CaseBits>> before, after;
};

// The result of one rank.
struct RankGradients {
  Tensor before, after;
  Placements placements;  // of the leaf's gradient
  CollectiveTally collectives;
};

GradCase read_grad_case(const RecordedCase& recorded) {
  GradCase in{.mesh = read_fitting_mesh(recorded),
              .tensor = read_tensor(recorded["tensor"]),
              .gradient = read_tensor(recorded["gradient"])};
  if (in.mesh.world > grad_ranks_max)
    recorded.root().reject(fmt::format("a world of at most {} ranks", grad_ranks_max));
  std::int64_t copies = 2 * std::max<std::int64_t>(numel(in.mesh.shape), 1);
  require_elements(recorded["tensor"], in.tensor.shape, copies);
  require_elements(recorded["gradient"], in.gradient.shape, copies);
  require_pieces(recorded, in.mesh.world);
  in.from = read_placements(recorded["from"]);
  in.is_leaf_local = recorded["leaf"].text() == "local";
  in.is_full = recorded["end"].text() == "full_tensor";
  in.to = in.is_full ? Placements(in.from.size(), Replicate()) : in.from;
  if (auto to = recorded.find("to")) in.to = read_placements(*to);
  if (auto given = recorded.find("grad_given")) in.given = read_placements(*given);
  in.incoming = in.given ? *in.given : without_partial(in.to);
  bool has_placements = recorded.has("grad_placements");
  if (has_placements != !(in.is_leaf_local || recorded.has("error")))
    recorded.root().reject("grad_placements for a leaf of kind dtensor, and for no other");
  if (recorded.has("error")) return in;
  in.before = read_bits(recorded["before"], in.mesh.world, in.gradient.data.dtype);
  in.after = read_bits(recorded["after"], in.mesh.world, in.tensor.data.dtype);
  return in;
}

RankGradients run_rank(const GradCase& in, const CaseSource& source, const CaseSource& gradients,
                       Rank& rank) {
  DeviceMesh mesh = in.mesh.view(rank.id());
  if (!mesh.get_coordinate()) return {};
  Tensor leaf = source.local(*mesh.get_coordinate());
  if (in.is_leaf_local) set_requires_grad(leaf);
  DTensor x = from_local(leaf, mesh, in.from, {.shape = in.tensor.shape});
  if (!in.is_leaf_local) x.set_requires_grad();
  Tensor y;
  if (in.is_full)
    y = x.full_tensor({.grad_placements = in.given});
  else
    y = (in.to == in.from ? x : x.redistribute(in.to)).to_local({.grad_placements = in.given});
  RankGradients result;
  result.before = gradients.local(*mesh.get_coordinate());
  auto counted_before = rank.counters();
  backward(y, {.gradients = {result.before}});
  result.collectives = tally_since(counted_before, rank);
  if (in.is_leaf_local) {
    result.after = grad_of(leaf);
  } else {
    DTensor gradient = x.grad().value();
    result.placements = gradient.placements();
    result.after = gradient.local();
  }
  rank.record(result.after);
  return result;
}

void compare(const RecordedCase& recorded, const GradCase& in,
             const std::vector<RankGradients>& results, CaseReport& report) {
  CollectiveTally collectives = read_tally(recorded["collectives"]);
  std::optional<Placements> placements;
  if (auto field = recorded.find("grad_placements")) placements = read_placements(*field);
  if (std::none_of(results.begin(), results.end(),
                   [](const RankGradients& result) { return result.after.is_defined(); }))
    report.mismatch("expected a rank in the mesh, got none");
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    const RankGradients& result = results[rank];
    std::string at = fmt::format("rank {}", rank);
    if (result.after.is_defined() != in.after[rank].has_value() ||
        in.before[rank].has_value() != in.after[rank].has_value()) {
      report.mismatch(at + ": is it in the mesh?");
      continue;
    }
    if (!in.after[rank]) continue;
    expect_bits(report, at + " before", *in.before[rank], result.before);
    expect_bits(report, at + " after", *in.after[rank], result.after);
    report.expect_equal(at + ": collectives", collectives, result.collectives);
    if (placements)
      report.expect_equal(at + ": placements", to_string(PlacementSpan(*placements)),
                          to_string(PlacementSpan(result.placements)));
  }
}

void verify_grad(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  GradCase in = read_grad_case(recorded);
  CaseSource source(in.tensor, in.mesh.shape, {in.from, {}});
  CaseSource gradients(in.gradient, in.mesh.shape, {in.incoming, {}});
  std::vector<RankGradients> results(std::size_t(in.mesh.world));
  World world(world_options(options, in.mesh.world));
  auto error = run_case(
      world, [&](Rank& rank) { results[rank.id()] = run_rank(in, source, gradients, rank); },
      report);
  if (auto refusal = recorded.find("error"))
    return report.expect_refusal("backward", *refusal, error ? &*error : nullptr);
  if (error) return report.mismatch(fmt::format("refused: {}", error->what()));
  if (!report.failed()) compare(recorded, in, results, report);
}

const CaseKind grad_kind({.name = "grad",
                          .summary = "the leaf's gradient on every rank, its placements, and the "
                                     "collectives of the backward pass",
                          .schema = grad_schema,
                          .verifier = verify_grad});

}  // namespace

}  // namespace simmesh
