#include <algorithm>
#include <fmt/format.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "sharding/parallel/loss_parallel.h"
#include "verify/case_kind.h"
#include "verify/case_mesh.h"
#include "verify/case_world.h"
#include "verify/pytorch/case_source.h"
#include "verify/pytorch/modules/case_module.h"
#include "verify/pytorch/modules/case_style.h"
#include "verify/pytorch/modules/recorded_piece.h"
#include "verify/pytorch/ops/op_case.h"

namespace simmesh {

namespace {

constexpr std::int64_t module_ranks_max = 1024;

// Placed is a whole tensor by formula and how it is cut into the plain pieces that ranks pass in.
struct Placed {
  CaseTensor tensor;
  Placements placements;
};

struct ModuleCase {
  CaseMesh mesh;
  std::optional<std::string> mesh_dim;
  CaseModule module;
  ParallelizePlan plan;
  std::vector<std::pair<std::string, CaseTensor>> parameters;
  Placed input;
  std::optional<Placed> grad_output;
  std::optional<CaseTensor> target;
  LossReduction reduction = LossReduction::mean;
  std::vector<RecordedPiece> parameters_after, gradients;
  RecordedPiece output;
  std::optional<RecordedPiece> input_gradient;
  CollectiveTally comm_forward, comm_backward;
  double rtol = 0.0;
};

// The result of one rank.
struct ModuleRun {
  std::vector<std::string> names;
  std::vector<Tensor> parameters, gradients;  // of these names
  Tensor output, input_gradient;
  CollectiveTally comm_forward, comm_backward;
};

Schema named_tensor_schema() {
  using namespace schema;
  return formula_schema({required("name", text()), required("shape", shape_schema()),
                         required("dtype", dtype_schema())});
}

Schema placed_schema() {
  using namespace schema;
  return formula_schema({required("shape", shape_schema()), required("dtype", dtype_schema()),
                         required("placements", case_placements_schema())});
}

Schema loss_schema() {
  using namespace schema;
  return object({required("function", word({"cross_entropy"})),
                 required("reduction", word({"mean", "sum", "none"})),
                 required("loss_parallel", yes())});
}

Schema module_schema() {
  using namespace schema;
  Fields fields = case_module_fields();
  for (Field& field :
       Fields{required("mesh", mesh_schema()), optional("mesh_dim", text()),
              required("plan", map(style_schema())),
              required("params", list(named_tensor_schema(), {.min = 1})),
              required("input", placed_schema()), optional("target", tensor_schema()),
              optional("loss", loss_schema()), optional("grad_output", placed_schema()),
              optional("rounds", yes()).because("it tells how the hashes were made"),
              optional("rtol", number_in(0, 1)).because("a tolerance may be wider"),
              expected("params_after", list(piece_schema(true))),
              expected("output", piece_schema()), expected("grads", list(piece_schema(true))),
              expected("input_grad", piece_schema()).or_absent(),
              expected("comm_forward", tally_schema(call_collectives)),
              expected("comm_backward", tally_schema(call_collectives))})
    fields.push_back(field);
  return object(std::move(fields));
}

Placed read_placed(const CaseField& field) {
  return {read_tensor(field), read_case_placements(field["placements"])};
}

LossReduction read_reduction(const CaseField& loss) {
  std::string name = loss["reduction"].text();
  return name == "mean"  ? LossReduction::mean
         : name == "sum" ? LossReduction::sum
                         : LossReduction::none;
}

void read_start(const RecordedCase& recorded, ModuleCase& in) {
  if (recorded.has("loss") == recorded.has("grad_output") ||
      recorded.has("loss") != recorded.has("target"))
    recorded.root().reject("either grad_output, or loss and target");
  if (auto gradient = recorded.find("grad_output")) in.grad_output = read_placed(*gradient);
  if (auto target = recorded.find("target")) in.target = read_tensor(*target);
  if (auto loss = recorded.find("loss")) in.reduction = read_reduction(*loss);
}

// The case lists each parameter of the module once, in the module's order.
void require_parameters(const CaseField& field, const ModuleCase& in) {
  nn::ModulePtr module = make(in.module, in.parameters.front().second.data.dtype);
  auto own = module->named_parameters();
  bool is_same =
      std::equal(own.begin(), own.end(), in.parameters.begin(), in.parameters.end(),
                 [](const auto& one, const auto& other) {
                   return one.first == other.first && one.second.shape() == other.second.shape;
                 });
  if (!is_same) field.reject("the parameters of the module, with their shapes, in its order");
}

ModuleCase read_module_case(const RecordedCase& recorded) {
  ModuleCase in;
  in.mesh = read_fitting_mesh(recorded);
  if (in.mesh.world > module_ranks_max)
    recorded.root().reject(fmt::format("a world of at most {} ranks", module_ranks_max));
  if (auto dim = recorded.find("mesh_dim")) in.mesh_dim = dim->text();
  if (!in.mesh_dim && in.mesh.shape.size() != 1)
    recorded["mesh"].reject("a mesh of one dim, or the name of one in mesh_dim");
  in.module = read_case_module(recorded);
  in.plan = read_plan(recorded["plan"]);
  for (const CaseField& parameter : recorded["params"].items())
    in.parameters.emplace_back(parameter["name"].text(), read_tensor(parameter));
  require_parameters(recorded["params"], in);
  in.input = read_placed(recorded["input"]);
  read_start(recorded, in);
  for (const CaseField& piece : recorded["params_after"].items())
    in.parameters_after.push_back(read_piece(piece, in.mesh.world));
  for (const CaseField& piece : recorded["grads"].items())
    in.gradients.push_back(read_piece(piece, in.mesh.world));
  in.output = read_piece(recorded["output"], in.mesh.world, "output");
  if (auto piece = recorded.find("input_grad"))
    in.input_gradient = read_piece(*piece, in.mesh.world, "gradient of the input");
  if (recorded.has("input_grad") != is_floating_point(in.input.tensor.data.dtype))
    recorded.root().reject("input_grad where the input has a gradient, and nowhere else");
  in.comm_forward = read_tally(recorded["comm_forward"]);
  in.comm_backward = read_tally(recorded["comm_backward"]);
  if (auto rtol = recorded.find("rtol")) in.rtol = rtol->number();
  return in;
}

// Returns the rank's piece of a tensor that is sharded over the mesh of the plan.
Tensor piece_on(const Placed& placed, const DeviceMesh& mesh) {
  CaseSource source(placed.tensor, mesh.shape(), {placed.placements, {}});
  return source.local(*mesh.get_coordinate());
}

nn::ModulePtr module_with_values(const ModuleCase& in) {
  nn::ModulePtr module = make(in.module, in.parameters.front().second.data.dtype);
  nn::StateDict values;
  for (const auto& [name, tensor] : in.parameters)
    values.emplace_back(name, formula(tensor.shape, tensor.data));
  module->load_state_dict(values);
  return module;
}

Tensor start_of_backward(const ModuleCase& in, const Tensor& output, const DeviceMesh& mesh) {
  if (!in.grad_output) return {};
  Tensor piece = piece_on(*in.grad_output, mesh);
  if (!output.distribution()) return piece;
  return from_local(piece, mesh, in.grad_output->placements,
                    {.shape = in.grad_output->tensor.shape})
      .as_tensor();
}

void run_module(const ModuleCase& in, Rank& rank, ModuleRun& run) {
  DeviceMesh whole = in.mesh.view(rank.id());
  DeviceMesh mesh = in.mesh_dim ? whole[*in.mesh_dim] : whole;
  nn::ModulePtr module = module_with_values(in);
  parallelize(*module, mesh, in.plan);
  for (const auto& [name, parameter] : module->named_parameters()) {
    run.names.push_back(name);
    run.parameters.push_back(parameter.detach());
  }

  Tensor input = piece_on(in.input, mesh);
  if (in.input_gradient) set_requires_grad(input);
  auto counted = rank.counters();
  Tensor output = (*module)(input);
  if (in.target)
    output = loss_parallel_cross_entropy(output, formula(in.target->shape, in.target->data),
                                         {.reduction = in.reduction});
  run.comm_forward = tally_since(counted, rank, call_collectives);
  run.output = output.detach();

  Tensor gradient = start_of_backward(in, output, mesh);
  counted = rank.counters();
  backward(output, {.gradients = {gradient}});
  run.comm_backward = tally_since(counted, rank, call_collectives);
  if (in.input_gradient) run.input_gradient = grad_of(input);
  for (const auto& [name, parameter] : module->named_parameters())
    run.gradients.push_back(grad_of(parameter));
  rank.record(run.output.local_part());
  for (const Tensor& one : run.gradients)
    if (one.is_defined()) rank.record(one.local_part());
}

void compare(const ModuleCase& in, const ModuleRun& run, std::size_t rank, CaseReport& report) {
  // As for ops: values within rtol, gradients within ten times as much.
  Closeness forward{in.rtol, in.rtol > 0 ? 1e-12 : 0.0};
  Closeness backward{10 * in.rtol, in.rtol > 0 ? 1e-10 : 0.0};
  auto all = [&](const std::vector<RecordedPiece>& expected, const std::vector<Tensor>& actual,
                 const Closeness& closeness, std::string_view what) {
    if (!report.expect_equal(fmt::format("rank {}: number of {}s", rank, what), expected.size(),
                             actual.size()))
      return;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      report.expect_equal(fmt::format("rank {}: name of {} {}", rank, what, i), expected[i].name,
                          run.names[i]);
      compare_piece(expected[i], actual[i],
                    {rank, closeness, fmt::format("{} {}", what, expected[i].name)}, report);
    }
  };
  all(in.parameters_after, run.parameters, forward, "parameter");
  compare_piece(in.output, run.output, {rank, forward, "output"}, report);
  all(in.gradients, run.gradients, backward, "gradient");
  if (in.input_gradient)
    compare_piece(*in.input_gradient, run.input_gradient, {rank, backward, "gradient of the input"},
                  report);
  report.expect_equal(fmt::format("rank {}: collectives forward", rank), in.comm_forward,
                      run.comm_forward);
  report.expect_equal(fmt::format("rank {}: collectives backward", rank), in.comm_backward,
                      run.comm_backward);
}

void verify_module(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  ModuleCase in = read_module_case(recorded);
  std::vector<ModuleRun> runs(std::size_t(in.mesh.world));
  World world(world_options(options, in.mesh.world));
  auto error = run_case(
      world, [&](Rank& rank) { run_module(in, rank, runs[rank.id()]); }, report);
  if (error) return report.mismatch(fmt::format("refused: {}", error->what()));
  if (report.failed()) return;
  for (std::size_t rank = 0; rank < runs.size(); ++rank) compare(in, runs[rank], rank, report);
}

const CaseKind module_kind({.name = "module",
                            .summary = "a parallelised module: its parameters, output and "
                                       "gradients on every rank, and the collectives",
                            .schema = module_schema,
                            .verifier = verify_module});

}  // namespace

}  // namespace simmesh
