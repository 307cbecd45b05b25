#include "pipeline/chunks/split.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/functions/reordering.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* split_where = "pipeline/split";

// Returns the number of chunks, at most `chunks`, that every argument can be cut into.
template <class Arguments, class ArgumentOf>
std::int64_t chunks_of(const Arguments& arguments, ArgumentOf argument_of, std::int64_t chunks) {
  for (const auto& entry : arguments) {
    const StepArgument& argument = argument_of(entry);
    if (!argument.split_dim) continue;
    const auto* tensor = std::get_if<Tensor>(&argument.value);
    if (tensor == nullptr)
      raise(ErrorKind::value_error, split_where,
            "Unsupported chunk spec: expected a tensor to be cut along dim {}",
            *argument.split_dim);
    chunks = std::min(chunks, tensor->size(*argument.split_dim));
  }
  return chunks;
}

const StepArgument& argument_of_list(const StepArgument& argument) { return argument; }
const StepArgument& argument_of_map(const std::pair<const std::string, StepArgument>& entry) {
  return entry.second;
}

// Returns the value of each chunk.
std::vector<StepValue> pieces_of(const StepArgument& argument, std::int64_t chunks) {
  if (!argument.split_dim) return std::vector<StepValue>(std::size_t(chunks), argument.value);
  std::vector<StepValue> pieces;
  for (Tensor& piece : tensor_split(std::get<Tensor>(argument.value), chunks, *argument.split_dim))
    pieces.emplace_back(std::move(piece));
  return pieces;
}

}  // namespace

StepArgument StepArgument::of(StepValue value) {
  bool is_tensor = std::holds_alternative<Tensor>(value);
  return {std::move(value), is_tensor ? std::optional<std::int64_t>(0) : std::nullopt};
}

std::vector<MicrobatchArguments> split_into_chunks(const StepArguments& arguments,
                                                   std::int64_t chunks) {
  chunks = chunks_of(arguments.args, argument_of_list, chunks);
  chunks = chunks_of(arguments.kwargs, argument_of_map, chunks);
  if (chunks < 1)
    raise(ErrorKind::runtime_error, split_where,
          "expected at least one chunk, got {}: a tensor without elements can't be cut", chunks);
  std::vector<MicrobatchArguments> microbatches(static_cast<std::size_t>(chunks));
  for (const StepArgument& argument : arguments.args) {
    std::vector<StepValue> pieces = pieces_of(argument, chunks);
    for (std::size_t i = 0; i < pieces.size(); ++i)
      microbatches[i].args.push_back(std::move(pieces[i]));
  }
  for (const auto& [name, argument] : arguments.kwargs) {
    std::vector<StepValue> pieces = pieces_of(argument, chunks);
    for (std::size_t i = 0; i < pieces.size(); ++i)
      microbatches[i].kwargs.emplace(name, std::move(pieces[i]));
  }
  return microbatches;
}

}  // namespace simmesh::pipeline
