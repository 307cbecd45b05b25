#include <fmt/format.h>

#include "core/autograd/variable.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/optim/distributed_muon.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/case_world.h"
#include "verify/collective_tally.h"
#include "verify/pipeline/case_figures.h"
#include "verify/pipeline/case_raises.h"
#include "verify/pipeline/muon_case.h"

namespace simmesh {

namespace {

constexpr std::int64_t muon_world_max = 64;
constexpr std::int64_t muon_matrix_max = 1 << 14;

// PyTorch's names of the collectives that an op on distributed tensors issues, by ours.
const std::map<std::string, std::string> functional_names = {
    {"all_reduce", "all_reduce"},
    {"all_gather", "all_gather_into_tensor"},
    {"reduce_scatter", "reduce_scatter_tensor"},
    {"all_to_all", "all_to_all_single"}};

Schema functional_tally_schema() {
  using namespace schema;
  Fields fields;
  for (const auto& [own, name] : functional_names)
    fields.push_back(expected(name, integer({.min = 1})).or_absent());
  return object(std::move(fields));
}

Schema muon_dtensor_schema() {
  using namespace schema;
  Schema placement = spelled("a placement", [](const std::string& text) {
    parse_placement(text);
    return true;
  });
  Schema placements = list(placement, {.min = 1, .max = 8});
  Schema param = formula_schema({required("shape", shape_schema()), optional("scale", number())});
  Schema gradient = formula_schema({optional("scale", number())});
  Field furthest = label("furthest", number());
  Schema result =
      object({expected("placements_after", placements), expected("momentum_placements", placements),
              expected("momentum", tensor_figures_schema(false)),
              expected("param", tensor_figures_schema(true)),
              expected("collectives", list(functional_tally_schema())),
              label("same_bits_as_one_device", flag()), furthest});
  Schema tolerance = object({required("param", number())});
  auto with_inputs = [&](Fields fields) {
    Fields inputs = {required("world", world_schema()),
                     required("mesh", mesh_schema()),
                     required("dtype", dtype_schema()),
                     required("placements", placements),
                     required("param", param),
                     required("grad", gradient),
                     required("options", object(muon_option_fields())),
                     required("steps", integer({.min = 1, .max = 64}))};
    fields.insert(fields.end(), inputs.begin(), inputs.end());
    return fields;
  };
  return object_of(
      {{"result", with_inputs({expected("result", result), required("tolerance", tolerance)})},
       {"raises", with_inputs({expected("raises", raises_schema())})}});
}

// MuonOnMesh is a case: a matrix and its gradients, and where they lie.
struct MuonOnMesh {
  CaseMesh mesh;
  Placements placements;
  Shape shape;
  Formula value;
  Formula gradient;
  optim::TorchMuonOptions options;
  std::int64_t steps = 1;

  Tensor gradient_at(std::int64_t step) const {
    Formula data = gradient;
    data.seed += std::uint64_t(step) * 1000;
    return formula(shape, data);
  }
};

MuonOnMesh read_muon_on_mesh(const RecordedCase& recorded) {
  DType dtype = dtype_from_string(recorded["dtype"].text());
  auto read = [&](const CaseField& field) {
    Formula data{.rule = rule_from_string(field["rule"].text()),
                 .seed = field["seed"].unsigned64(),
                 .dtype = dtype};
    if (auto scale = field.find("scale")) data.scale = scale->number();
    if (auto below = field.find("below")) data.below = below->unsigned64();
    return data;
  };
  MuonOnMesh on_mesh{.mesh = read_fitting_mesh(recorded),
                     .shape = recorded["param"]["shape"].shape(),
                     .value = read(recorded["param"]),
                     .gradient = read(recorded["grad"]),
                     .options = read_muon_options(recorded["options"]),
                     .steps = recorded["steps"].integer()};
  if (on_mesh.mesh.world > muon_world_max)
    recorded["world"].reject(fmt::format("at most {} ranks", muon_world_max));
  require_elements(recorded["param"]["shape"], on_mesh.shape, on_mesh.mesh.world);
  if (numel(on_mesh.shape) > muon_matrix_max)
    recorded["param"]["shape"].reject(fmt::format("at most {} elements", muon_matrix_max));
  for (const CaseField& field : recorded["placements"].items())
    on_mesh.placements.push_back(parse_placement(field.text()));
  return on_mesh;
}

// MuonOnMeshResult is what one rank sees after the last step; tensors are whole.
struct MuonOnMeshResult {
  Placements placements, momentum_placements;
  Tensor parameter, momentum;
  std::vector<CollectiveTally> collectives;
};

MuonOnMeshResult run_muon_on_mesh(const MuonOnMesh& on_mesh, Rank& rank) {
  DeviceMesh mesh = on_mesh.mesh.view(rank.id());
  if (!mesh.get_coordinate()) return {};
  auto distributed = [&](const Tensor& whole) {
    return distribute_tensor(whole, mesh, on_mesh.placements).as_tensor();
  };
  Tensor parameter = distributed(formula(on_mesh.shape, on_mesh.value));
  set_requires_grad(parameter);
  DistributedMuon muon({parameter}, on_mesh.options);
  MuonOnMeshResult result;
  for (std::int64_t step = 0; step < on_mesh.steps; ++step) {
    set_grad(parameter, distributed(on_mesh.gradient_at(step)));
    auto counted_before = rank.counters();
    muon.step();
    result.collectives.emplace_back();
    for (const auto& [name, count] : tally_since(counted_before, rank))
      result.collectives.back()[functional_names.at(name)] = count;
  }
  DTensor after = DTensor::of(parameter.detach());
  DTensor momentum = after.with_local(muon.state(0).at("momentum_buffer"));
  result.placements = after.placements();
  result.momentum_placements = momentum.placements();
  result.parameter = after.full_tensor();
  result.momentum = momentum.full_tensor();
  rank.record(result.parameter);
  return result;
}

void expect_placements(CaseReport& report, const std::string& what, const CaseField& field,
                       const Placements& placements) {
  std::vector<std::string> texts;
  for (const Placement& placement : placements) texts.push_back(to_string(placement));
  report.expect_equal(what, field.texts(), texts);
}

void expect_on_mesh(CaseReport& report, const RecordedCase& recorded, const std::string& who,
                    const MuonOnMeshResult& result) {
  CaseField expected = recorded["result"];
  expect_placements(report, who + "placements", expected["placements_after"], result.placements);
  expect_placements(report, who + "momentum placements", expected["momentum_placements"],
                    result.momentum_placements);
  expect_figures(report, who + "momentum", expected["momentum"], result.momentum, 0);
  expect_figures(report, who + "param", expected["param"], result.parameter,
                 recorded["tolerance"]["param"].number());
  std::vector<CaseField> steps = expected["collectives"].items();
  if (!report.expect_equal(who + "number of steps", steps.size(), result.collectives.size()))
    return;
  for (std::size_t step = 0; step < steps.size(); ++step)
    report.expect_equal(fmt::format("{}step {}: collectives", who, step), read_tally(steps[step]),
                        result.collectives[step]);
}

void verify_muon_dtensor(const RecordedCase& recorded, const VerifyOptions& options,
                         CaseReport& report) {
  MuonOnMesh on_mesh = read_muon_on_mesh(recorded);
  std::vector<MuonOnMeshResult> of_rank(std::size_t(on_mesh.mesh.world));
  World world(world_options(options, on_mesh.mesh.world));
  auto error = run_case(
      world, [&](Rank& rank) { of_rank[rank.id()] = run_muon_on_mesh(on_mesh, rank); }, report);
  if (auto raises = recorded.find("raises"))
    return expect_raises(report, "Muon", *raises, [&] {
      if (error) throw Error(*error);
    });
  if (error) return report.mismatch(fmt::format("expected steps of Muon, got {}", error->what()));
  if (report.failed()) return;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank)
    if (of_rank[rank].parameter.is_defined())
      expect_on_mesh(report, recorded, fmt::format("rank {}: ", rank), of_rank[rank]);
}

const CaseKind muon_dtensor_kind(
    {.name = "muon_dtensor",
     .summary = "steps of torch.optim.Muon on distributed parameters: placements, collectives, "
                "momenta, and parameters within the case's tolerance",
     .schema = muon_dtensor_schema,
     .verifier = verify_muon_dtensor});

}  // namespace

}  // namespace simmesh
