#include "verify/case_work.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "verify/case_tensor.h"

namespace simmesh {

namespace {

// Calls of modules in all ranks together take some microseconds each; products a nanosecond.
constexpr double calls_max = 1 << 21;
constexpr double products_max = std::int64_t{1} << 36;
constexpr double elements_max = case_elements_max;

// The needs of a tree of nodes, as doubles, which don't overflow; a bound needs no exact figure.
struct ModelSize {
  double calls = 0;       // of modules, in one pass
  double parameters = 0;  // elements
  double width = 1;       // of the widest result, for one row
};

double size_or(const nn::ModelNode& node, const char* name, double otherwise) {
  auto field = node.fields.find(name);
  if (field == node.fields.end()) return otherwise;
  const auto* size = std::get_if<std::int64_t>(&field->second);
  return size ? double(*size) : otherwise;
}

// Returns the parameters of the node alone: a matrix where it has two sizes, as linear and
// embedding have; four of them in attention; two rows in a norm.
double own_parameters(const nn::ModelNode& node) {
  double elements = 0;
  if (auto field = node.fields.find("params"); field != node.fields.end())
    if (const auto* shapes = std::get_if<nn::ModelNode::NamedShapes>(&field->second))
      for (const auto& [name, shape] : *shapes) elements += double(numel(shape));
  double dim = size_or(node, "dim", 0);
  if (node.kind == "attention") return 4 * dim * (dim + 1);
  elements += size_or(node, "in", 0) * size_or(node, "out", 0) + size_or(node, "out", 0);
  return elements + dim * (size_or(node, "num", 0) + size_or(node, "len", 0) + 2);
}

ModelSize size_of(const nn::ModelNode& node, double length) {
  ModelSize size{.calls = 1, .parameters = own_parameters(node)};
  for (const char* name : {"in", "out", "dim"})
    size.width = std::max(size.width, size_or(node, name, 1));
  if (node.kind == "attention") {
    size.calls += 4;
    size.width = std::max(size.width, size_or(node, "heads", 1) * length);
  }
  std::map<std::string, double> calls_of;
  double once = 0;
  for (const nn::ModelNode& child : node.children) {
    ModelSize below = size_of(child, length);
    calls_of[child.name] = below.calls;
    once += below.calls;
    size.parameters += below.parameters;
    size.width = std::max(size.width, below.width);
  }
  auto calls = node.fields.find("calls");
  const auto* names =
      calls == node.fields.end() ? nullptr : std::get_if<std::vector<std::string>>(&calls->second);
  if (names == nullptr || names->empty()) {
    size.calls += once;
  } else {
    for (const std::string& name : *names) size.calls += calls_of[name];
  }
  return size;
}

}  // namespace

void require_work(const CaseField& field, const TrainingModel& model, const RunSize& size) {
  ModelSize needed = size_of(model.node, size.input.size() > 1 ? double(size.input[1]) : 1.0);
  double described = 0;
  for (const ParameterData& parameter : model.parameters)
    described += double(numel(parameter.shape));
  needed.parameters = std::max(needed.parameters, described);
  double ranks = double(size.ranks), steps = double(size.steps);
  double rows = double(numel(size.input));
  auto require = [&](const char* what, double amount, double most) {
    if (amount > most)
      field.reject(fmt::format("a case of at most {:.0f} {} in all ranks together, not {:.3g}",
                               most, what, amount));
  };
  require("elements of parameters", ranks * needed.parameters, elements_max);
  require("elements of results", ranks * double(size.kept) * needed.calls * rows * needed.width,
          elements_max);
  require("calls of modules", ranks * steps * needed.calls, calls_max);
  require("products of numbers", ranks * steps * rows * (needed.parameters + 1), products_max);
}

}  // namespace simmesh
