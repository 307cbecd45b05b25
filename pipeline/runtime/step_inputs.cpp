#include "pipeline/runtime/step_inputs.h"

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/ops/functions/reordering.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* inputs_where = "pipeline/step_inputs";

std::vector<std::string> names_of(const Keywords& keywords) {
  std::vector<std::string> names;
  for (const auto& [name, value] : keywords) names.push_back(name);
  return names;
}

StepArguments arguments_of(const StepInputs& inputs, const ChunkDims& dims) {
  StepArguments arguments;
  if (dims.args && dims.args->size() != inputs.args.size())
    raise(ErrorKind::assertion_error, inputs_where,
          "expected the keys of {} positional arguments, got chunk dims of {} keys",
          inputs.args.size(), dims.args->size());
  for (std::size_t i = 0; i < inputs.args.size(); ++i) {
    arguments.args.push_back(StepArgument::of(inputs.args[i]));
    if (dims.args) arguments.args.back().split_dim = (*dims.args)[i];
  }
  std::vector<std::string> names = names_of(inputs.kwargs), with_dims;
  if (dims.kwargs)
    for (const auto& [name, dim] : *dims.kwargs) with_dims.push_back(name);
  if (dims.kwargs && names != with_dims)
    raise(ErrorKind::assertion_error, inputs_where,
          "expected the keys of the keyword arguments {}, got chunk dims of the keys {}",
          join_text(names, ", "), join_text(with_dims, ", "));
  for (const auto& [name, value] : inputs.kwargs) {
    StepArgument argument = StepArgument::of(value);
    if (dims.kwargs) argument.split_dim = dims.kwargs->at(name);
    arguments.kwargs.emplace(name, std::move(argument));
  }
  return arguments;
}

std::vector<Tensor> cut_target(const Tensor& target, std::int64_t count) {
  if (target.dim() == 0 || target.size(0) < count)
    raise(ErrorKind::assertion_error, inputs_where, "tensor size {} is smaller than num_chunks {}",
          target.dim() == 0 ? 0 : target.size(0), count);
  return tensor_split(target, count, 0);
}

void check_count(const char* name, std::size_t got, std::int64_t count) {
  if (std::int64_t(got) != count)
    raise(ErrorKind::value_error, inputs_where, "Expecting {} {} but got {}", count, name, got);
}

void refuse_mixed(const StepInputs& inputs) {
  if (!inputs.args.empty())
    raise(ErrorKind::value_error, inputs_where,
          "with pre-split inputs, pass pre-split positional inputs through arg_mbs instead of "
          "positional args");
  if (!inputs.kwargs.empty())
    raise(ErrorKind::value_error, inputs_where,
          "unexpected keyword arguments with pre-split inputs: {}; pass pre-split keyword inputs "
          "through kwarg_mbs",
          join_text(names_of(inputs.kwargs), ", "));
  if (inputs.target)
    raise(ErrorKind::value_error, inputs_where,
          "with pre-split inputs, pass pre-split targets through target_mbs instead of target");
}

StepMicrobatches take_cut(const StepInputs& inputs, std::int64_t count) {
  refuse_mixed(inputs);
  if (inputs.arg_mbs) check_count("arg_mbs", inputs.arg_mbs->size(), count);
  if (inputs.kwarg_mbs) check_count("kwarg_mbs", inputs.kwarg_mbs->size(), count);
  if (inputs.target_mbs) check_count("target_mbs", inputs.target_mbs->size(), count);
  StepMicrobatches cut;
  cut.arguments.resize(std::size_t(count));
  for (std::size_t i = 0; i < cut.arguments.size(); ++i) {
    if (inputs.arg_mbs) cut.arguments[i].args = (*inputs.arg_mbs)[i];
    if (inputs.kwarg_mbs) cut.arguments[i].kwargs = (*inputs.kwarg_mbs)[i];
  }
  if (inputs.target_mbs) cut.targets = *inputs.target_mbs;
  return cut;
}

}  // namespace

StepMicrobatches cut_inputs(const StepInputs& inputs, const ChunkDims& dims, std::int64_t count) {
  if (inputs.arg_mbs || inputs.kwarg_mbs || inputs.target_mbs) return take_cut(inputs, count);
  StepMicrobatches cut;
  if (inputs.args.empty() && inputs.kwargs.empty())
    cut.arguments.resize(std::size_t(count));
  else
    cut.arguments = split_into_chunks(arguments_of(inputs, dims), count);
  if (inputs.target) cut.targets = cut_target(*inputs.target, count);
  check_count("arg_mbs", cut.arguments.size(), count);
  return cut;
}

}  // namespace simmesh::pipeline
