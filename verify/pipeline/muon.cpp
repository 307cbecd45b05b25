#include <fmt/format.h>
#include <set>

#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/shapes/factories.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"
#include "verify/pipeline/case_figures.h"
#include "verify/pipeline/muon_case.h"

namespace simmesh {

namespace {

constexpr std::size_t muon_params_max = 64;
constexpr std::int64_t muon_elements_max = 1 << 16;

schema::Field muon_results(bool has_tolerance) {
  using namespace schema;
  Schema of_parameter = object({expected("update", or_null(tensor_figures_schema(has_tolerance))),
                                expected("momentum", or_null(tensor_figures_schema(false))),
                                expected("param", tensor_figures_schema(has_tolerance))});
  return expected("result", list(list(of_parameter)));
}

Schema muon_schema() {
  using namespace schema;
  Fields group = muon_option_fields();
  group.push_back(required("params", list(integer({.min = 0}), {.max = muon_params_max})));
  Schema gradient =
      formula_schema({optional("none_at", list(integer({.min = 0}))), optional("scale", number())});
  Schema tolerance = object({required("update", number()), required("param", number())});
  return object_by(
      "compare",
      {{"bits", {muon_results(false)}},
       {"tolerance", {required("tolerance", tolerance), muon_results(true)}}},
      {required("params", list(tensor_schema(), {.min = 1, .max = muon_params_max})),
       required("grads", list(gradient, {.min = 1, .max = muon_params_max})),
       required("groups", list(object(std::move(group)), {.min = 1, .max = muon_params_max})),
       required("steps", integer({.min = 1, .max = 64}))});
}

// MuonParameter is a parameter of a case with its gradients.
struct MuonParameter {
  Tensor value;
  Formula gradient;
  std::set<std::int64_t> none_at;
  optim::TorchMuonOptions options = {};
  std::size_t index = 0;  // in the optimiser, which has the parameters by group

  Tensor gradient_at(std::int64_t step) const {
    if (none_at.count(step) > 0) return Tensor();
    Formula data = gradient;
    data.seed += std::uint64_t(step) * 1000;
    return formula(value.shape(), data);
  }
};

std::vector<MuonParameter> read_muon_parameters(const RecordedCase& recorded) {
  std::vector<CaseField> params = recorded["params"].items(), grads = recorded["grads"].items();
  if (params.size() != grads.size()) recorded["grads"].reject("an entry for each parameter");
  std::vector<MuonParameter> parameters;
  for (std::size_t i = 0; i < params.size(); ++i) {
    CaseTensor tensor = read_tensor(params[i]);
    if (numel(tensor.shape) > muon_elements_max)
      params[i]["shape"].reject(fmt::format("at most {} elements", muon_elements_max));
    MuonParameter parameter{.value = formula(tensor.shape, tensor.data)};
    parameter.gradient = {.rule = rule_from_string(grads[i]["rule"].text()),
                          .seed = grads[i]["seed"].unsigned64(),
                          .dtype = tensor.data.dtype};
    if (auto scale = grads[i].find("scale")) parameter.gradient.scale = scale->number();
    if (auto below = grads[i].find("below")) parameter.gradient.below = below->unsigned64();
    if (auto none_at = grads[i].find("none_at"))
      for (std::int64_t step : none_at->integers()) parameter.none_at.insert(step);
    set_requires_grad(parameter.value);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

// Reads the groups, and gives each parameter the options of its own.
std::vector<optim::TorchMuon::Group> read_muon_groups(const RecordedCase& recorded,
                                                      std::vector<MuonParameter>& parameters) {
  std::vector<optim::TorchMuon::Group> groups;
  std::set<std::int64_t> seen;
  for (const CaseField& field : recorded["groups"].items()) {
    groups.push_back({{}, read_muon_options(field)});
    for (std::int64_t index : field["params"].integers()) {
      if (index >= std::int64_t(parameters.size()) || !seen.insert(index).second)
        field["params"].reject("indices of parameters, each in one group");
      MuonParameter& parameter = parameters[std::size_t(index)];
      parameter.options = groups.back().options;
      parameter.index = seen.size() - 1;
      groups.back().parameters.push_back(parameter.value);
    }
  }
  if (seen.size() != parameters.size()) recorded["groups"].reject("a group for each parameter");
  return groups;
}

// Compares a tensor, if there is one, with what is recorded.
void expect_muon_tensor(CaseReport& report, const std::string& what, const CaseField& field,
                        const Tensor& tensor, double tolerance) {
  if (report.expect_equal(what + " exists", !field.is_null(), tensor.is_defined()) &&
      !field.is_null())
    expect_figures(report, what, field, tensor, tolerance);
}

// Returns the momentum of a parameter; undefined before its first step.
Tensor momentum_of_parameter(const optim::TorchMuon& muon, const MuonParameter& parameter) {
  const auto& state = muon.state(parameter.index);
  auto found = state.find("momentum_buffer");
  return found == state.end() ? Tensor() : found->second;
}

// Returns the direction of the step that comes; undefined without a gradient.
Tensor direction_of(const optim::TorchMuon& muon, const MuonParameter& parameter,
                    const Tensor& gradient) {
  if (!gradient.is_defined()) return Tensor();
  Tensor known = momentum_of_parameter(muon, parameter);
  Tensor buffer = known.is_defined() ? known.clone() : zeros_like(gradient);
  return optim::muon_direction(buffer, gradient, parameter.options);
}

// Makes a step, and returns the directions by parameter.
std::vector<Tensor> step_muon(optim::TorchMuon& muon, std::vector<MuonParameter>& parameters,
                              std::int64_t step) {
  std::vector<Tensor> updates;
  for (MuonParameter& parameter : parameters) {
    Tensor gradient = parameter.gradient_at(step);
    updates.push_back(direction_of(muon, parameter, gradient));
    set_grad(parameter.value, gradient);
  }
  muon.step();
  return updates;
}

void verify_muon(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  Arithmetic arithmetic = Arithmetic::parse(options.arithmetic.value_or("canonical"));
  ArithmeticScope scope(arithmetic);
  std::vector<MuonParameter> parameters = read_muon_parameters(recorded);
  optim::TorchMuon muon(read_muon_groups(recorded, parameters));
  double of_update = 0, of_param = 0;
  if (auto tolerance = recorded.find("tolerance")) {
    of_update = (*tolerance)["update"].number();
    of_param = (*tolerance)["param"].number();
  }
  std::vector<CaseField> steps = recorded["result"].items();
  if (!report.expect_equal("number of steps", std::int64_t(steps.size()),
                           recorded["steps"].integer()))
    return;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    std::vector<Tensor> updates = step_muon(muon, parameters, std::int64_t(step));
    std::vector<CaseField> results = steps[step].items();
    if (!report.expect_equal("number of parameters", results.size(), parameters.size())) return;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      std::string who = fmt::format("step {}: parameter {}: ", step, i);
      expect_muon_tensor(report, who + "update", results[i]["update"], updates[i], of_update);
      expect_muon_tensor(report, who + "momentum", results[i]["momentum"],
                         momentum_of_parameter(muon, parameters[i]), 0);
      expect_muon_tensor(report, who + "param", results[i]["param"], parameters[i].value, of_param);
    }
  }
}

const CaseKind muon_kind({.name = "muon",
                          .summary = "steps of torch.optim.Muon: directions, momenta, parameters",
                          .schema = muon_schema,
                          .verifier = verify_muon});

}  // namespace

}  // namespace simmesh
