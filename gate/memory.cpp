#include "gate/memory.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <unistd.h>

#include "gate/folding.h"
#include "gate/runner.h"

namespace simmesh {

namespace {

// The bytes of touched stack pages, modules and the tape, as measured.
constexpr std::int64_t rank_bytes = 64 * 1024;
// Below this size, activations aren't worth a run that measures them.
constexpr std::int64_t small_bytes = std::int64_t(64) << 20;

std::int64_t states_of(const OptimizerSpec& spec) {
  // Muon keeps one tensor for a matrix, and Adam two for the rest.
  if (!std::holds_alternative<optim::SgdOptions>(spec)) return 2;
  return std::get<optim::SgdOptions>(spec).momentum > 0 ? 1 : 0;
}

bool is_below(const std::string& name, const std::string& module) {
  return module.empty() || name.starts_with(module + ".");
}

// Returns the call of fully_shard that takes a parameter: the first one on a module that holds it.
std::size_t wrap_of(const FsdpPlan& plan, const std::string& name) {
  for (std::size_t i = 0; i < plan.wraps.size(); ++i)
    for (const std::string& module : plan.wraps[i].modules)
      if (is_below(name, module)) return i;
  return plan.wraps.size() - 1;
}

// Sizes of the parameters of a gate, in bytes.
struct ModelBytes {
  std::int64_t whole = 0;
  std::int64_t sharded = 0;        // the part of a rank
  std::int64_t largest_group = 0;  // of one call of fully_shard, padded
};

ModelBytes model_bytes(const GateFile& gate) {
  TrainingModel model = training_model(gate.model, gate.model_use());
  const auto item = std::int64_t(bytes_per_element(gate.model.dtype));
  ModelBytes bytes;
  std::optional<FsdpPlan> plan;
  std::int64_t shards = 1;
  if (gate.parallel.fsdp) {
    plan = fsdp_plan(*gate.parallel.fsdp, gate.mesh, model.node);
    shards = shard_count(*gate.parallel.fsdp, gate.mesh);
  }
  std::vector<std::int64_t> groups(plan ? plan->wraps.size() : 1);
  for (const ParameterData& parameter : model.parameters) {
    std::int64_t elements = numel(parameter.shape);
    std::int64_t rows = parameter.shape.empty() ? 1 : parameter.shape[0];
    std::int64_t row = rows > 0 ? elements / rows : 0;
    std::int64_t part = (rows + shards - 1) / shards * row;
    bytes.whole += elements * item;
    bytes.sharded += part * item;
    if (plan) groups[wrap_of(*plan, parameter.name)] += part * shards * item;
  }
  bytes.largest_group = *std::max_element(groups.begin(), groups.end());
  return bytes;
}

// Returns the bytes of a rank's parameters, gradients and optimiser state.
std::int64_t kept_bytes(const GateFile& gate, const ModelBytes& model) {
  std::int64_t states = states_of(gate.train.optimizer);
  if (!gate.parallel.zero || gate.parallel.zero->stage() == 0) return model.sharded * (2 + states);
  std::int64_t part = model.whole / gate.parts();
  if (gate.parallel.zero->stage() == 3) return part * (2 + states);
  return 2 * model.whole + part * (1 + states);
}

// Runs one step of the gate on a few ranks without data.
std::int64_t activation_bytes(const GateFile& gate) {
  GateFile shapes = gate.run_as({.layout = gate.mesh, .parallel = gate.parallel});
  shapes.world = {.shapes_only = true, .fold = true};
  shapes.device.reset();
  shapes.train.steps = 1;
  Outcome outcome = GateRunner(shapes, {}).run({}).outcome;
  if (!outcome.ok()) return 0;
  std::int64_t bytes = 0;
  for (const RankFigures& figures : outcome.figures)
    bytes = std::max(bytes, figures.by_category[std::size_t(MemoryCategory::activation)].peak);
  return bytes;
}

std::string in_words(std::int64_t bytes) {
  constexpr double gibi = 1 << 30, mebi = 1 << 20;
  return double(bytes) >= gibi ? fmt::format("{:.1f} GiB", double(bytes) / gibi)
                               : fmt::format("{:.0f} MiB", double(bytes) / mebi);
}

}  // namespace

GateMemory estimate_memory(const GateFile& gate) {
  GateMemory memory{.bytes_per_rank = rank_bytes};
  std::int64_t ranks = gate.ranks();
  if (gate.world.fold) ranks = std::int64_t(folding_of(gate).ranks.size());
  std::int64_t shared = 0;
  if (!gate.world.shapes_only) {
    ModelBytes model = model_bytes(gate);
    std::int64_t states = states_of(gate.train.optimizer);
    memory.bytes_per_rank += kept_bytes(gate, model) + model.largest_group;
    if (ranks * memory.bytes_per_rank > small_bytes)
      memory.bytes_per_rank += activation_bytes(gate);
    // The model is built whole, and the results and data of each run are kept whole.
    std::int64_t runs = 1 + std::int64_t(gate.expect.same_as.size());
    shared = model.whole * (1 + runs * (gate.train.steps + 1 + states));
    shared += gate.train.steps * gate.data.batch *
              (numel(gate.data.input) + numel(gate.data.target)) * std::int64_t(sizeof(double));
  }
  memory.bytes = ranks * memory.bytes_per_rank + shared;
  return memory;
}

std::int64_t machine_memory_bytes() {
  std::int64_t bytes = std::int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  std::ifstream group("/sys/fs/cgroup/memory.max");
  std::int64_t group_bytes = 0;
  return group >> group_bytes ? std::min(bytes, group_bytes) : bytes;
}

std::int64_t expect_memory(const GateFile& gate, std::int64_t worlds, std::int64_t bytes_max) {
  GateMemory memory = estimate_memory(gate);
  if (memory.bytes <= bytes_max / worlds) return memory.bytes * worlds;
  std::string advice = !gate.world.shapes_only ? "[world] with shapes_only = true needs no data"
                                               : "fold = true runs few ranks that stand for all";
  throw BadGate(
      gate.mesh_place,
      fmt::format("key 'mesh.shape': expected a gate that needs at most the {} of memory "
                  "of this machine, got {} ranks that need about {} each, {} in all{}; {}",
                  in_words(bytes_max), gate.ranks(), in_words(memory.bytes_per_rank),
                  in_words(memory.bytes),
                  worlds > 1 ? fmt::format(", {} times at once", worlds) : "", advice));
}

}  // namespace simmesh
