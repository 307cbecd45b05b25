#include "gate/compose/module_outputs.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "core/nn/batch_rows.h"
#include "core/nn/moe.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/chunk.h"
#include "gate/runner.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

namespace {

// Returns the rows of a micro-batch that this rank has, given an output whose dim 0 they are.
Chunk own_rows(const Shape& shape) {
  try {
    ShardOfTensor shard = nn::BatchRows::shard_of(shape);
    return shard.offset.empty() ? Chunk() : Chunk{shard.offset[0], shape[0]};
  } catch (const Error&) {
    return {};  // the output doesn't have the rank's rows
  }
}

void record_output(const Tensor& output, ModuleOutput entry, std::vector<ModuleOutput>& list) {
  if (!output.is_defined() || (output.distribution() && output.distribution()->is_partial()))
    return;
  Ledger::Uncharged host;
  Tensor own = output.local_part().contiguous();
  entry.rows = own_rows(own.shape());
  entry.tensor = {entry.module, own.dtype(), own.shape(), {}};
  if (own.bytes() > 0) entry.tensor.bytes.assign(own.data(), own.data() + own.bytes());
  list.push_back(std::move(entry));
}

bool is_below_one(const std::string& path, const std::vector<std::string>& modules) {
  return std::any_of(modules.begin(), modules.end(), [&](const std::string& module) {
    return module.empty() || path.starts_with(module + ".");
  });
}

using Indices = std::vector<std::int64_t>;

// Returns some indices of a dim.
RecordedTensor taken(const RecordedTensor& tensor, std::size_t dim, const Indices& indices) {
  std::size_t inner = bytes_per_element(tensor.dtype), outer = 1;
  for (std::size_t i = dim + 1; i < tensor.shape.size(); ++i) inner *= std::size_t(tensor.shape[i]);
  for (std::size_t i = 0; i < dim; ++i) outer *= std::size_t(tensor.shape[i]);
  RecordedTensor result{tensor.name, tensor.dtype, tensor.shape, {}};
  result.shape[dim] = std::int64_t(indices.size());
  std::size_t whole = inner * std::size_t(tensor.shape[dim]);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::int64_t index : indices) {
      const std::byte* from = tensor.bytes.data() + o * whole + std::size_t(index) * inner;
      result.bytes.insert(result.bytes.end(), from, from + inner);
    }
  return result;
}

Indices range_of(const Chunk& chunk) {
  Indices indices(std::size_t(chunk.length));
  std::iota(indices.begin(), indices.end(), chunk.start);
  return indices;
}

// RankPlace is the place of a rank in a layout.
struct RankPlace {
  const GateSameAs& run;
  Dims coordinates = {};

  RankPlace(const GateSameAs& layout, std::int64_t rank)
      : run(layout), coordinates(layout.layout.shape.size()) {
    for (std::size_t dim = coordinates.size(); dim-- > 0;) {
      coordinates[dim] = rank % run.layout.shape[dim];
      rank /= run.layout.shape[dim];
    }
  }

  std::int64_t size(const std::string& dim) const {
    return run.layout.shape[run.layout.index_of(dim)];
  }
  std::int64_t coordinate(const std::string& dim) const {
    return coordinates[run.layout.index_of(dim)];
  }

  // Returns the positions of a sequence that the rank has.
  Indices positions(std::int64_t length) const {
    const auto& context = run.parallel.context;
    if (!context) return range_of({0, length});
    SequenceSplit split{length, size(context->mesh), context->style.order};
    return split.positions_of(coordinate(context->mesh));
  }
};

// Returns the part of one device's output that a rank should have; nullopt where the rank's output
// has another shape, such as some columns of it.
std::optional<RecordedTensor> part_for(const RecordedTensor& whole, const ModuleOutput& own,
                                       const RankPlace& place) {
  if (whole.shape.empty() || whole.shape.size() != own.tensor.shape.size()) return std::nullopt;
  RecordedTensor part = own.rows.length > 0 ? taken(whole, 0, range_of(own.rows)) : whole;
  if (part.shape != own.tensor.shape && part.shape.size() > 1 && place.run.parallel.context)
    part = taken(part, 1, place.positions(part.shape[1]));
  const auto& tensor = place.run.parallel.tensor;
  if (part.shape != own.tensor.shape && part.shape.size() > 1 && tensor)
    part = taken(part, 1,
                 range_of(chunk_of({.size = part.shape[1],
                                    .parts = place.size(tensor->mesh),
                                    .index = place.coordinate(tensor->mesh)})));
  if (part.shape != own.tensor.shape) return std::nullopt;
  return part;
}

// Returns where two tensors of one shape differ; empty if they are equal.
std::string difference_text(const RecordedTensor& expected, const RecordedTensor& actual) {
  if (expected.bytes == actual.bytes) return "";
  Tensor tensor = empty(actual.shape, actual.dtype);
  std::copy(actual.bytes.begin(), actual.bytes.end(), tensor.mutable_data());
  auto difference = first_difference({expected}, {{expected.name, tensor}});
  if (!difference) return "";
  return fmt::format("{}: expected {}, got {}", difference->where, difference->expected,
                     difference->actual);
}

}  // namespace

std::function<void(Rank&, nn::Module&)> ModuleOutputs::recorder() const {
  return [rank = rank_, list = list_](Rank& own, nn::Module& model) {
    if (std::int64_t(own.id()) != rank) return;
    std::vector<std::string> mixtures;
    for (const auto& [path, module] : model.named_modules()) {
      if (is_below_one(path, mixtures)) continue;
      if (dynamic_cast<nn::Moe*>(module)) mixtures.push_back(path);
      auto calls = std::make_shared<std::int64_t>(0);
      module->add_hook(
          [list, calls, name = path](nn::Module&, const nn::Tensors&, nn::Tensors outputs) {
            NoGrad mode;
            if (!outputs.empty())
              record_output(outputs[0], {.module = name, .call = (*calls)++}, *list);
            return outputs;
          });
    }
  };
}

std::string first_other_output(const GateFile& gate, const GateRunOptions& options,
                               const GateSameAs& layout, const ModuleOutputs& outputs) {
  GateFile single = gate.run_as({.layout = {}, .parallel = {}, .word = "single_device"});
  single.parallel.checkpoint_blocks = gate.parallel.checkpoint_blocks;
  GateRunner runner(single, options);
  ModuleOutputs of_one(0);
  GateRun run = runner.run({.at_model = of_one.recorder()});
  if (!run.outcome.ok()) return "";
  std::map<std::pair<std::string, std::int64_t>, const RecordedTensor*> expected;
  for (const ModuleOutput& one : of_one.list()) expected[{one.module, one.call}] = &one.tensor;
  RankPlace place(layout, outputs.rank());
  for (const ModuleOutput& own : outputs.list()) {
    auto found = expected.find({own.module, own.call});
    if (found == expected.end()) continue;
    std::optional<RecordedTensor> part = part_for(*found->second, own, place);
    if (!part) continue;
    std::string what = own.module.empty() ? "the model" : own.module;
    part->name = fmt::format("output of {} in call {} on rank {}", what, own.call, outputs.rank());
    if (std::string text = difference_text(*part, own.tensor); !text.empty()) return text;
  }
  return "";
}

}  // namespace simmesh
