#include "sharding/validate/world_run.h"

#include <cstring>

#include "collectives/process_group.h"
#include "core/check/error.h"
#include "core/engine/world.h"
#include "core/ops/compute_mode.h"

namespace simmesh {

namespace {

// Elements is a tensor outside of every rank's ledger.
struct Elements {
  bool is_defined = false;
  Shape shape;
  DType dtype = DType::float32;
  std::vector<std::byte> bytes;
};

Elements elements_of(const Tensor& tensor) {
  if (!tensor.is_defined()) return {};
  Tensor whole = tensor.contiguous();
  Elements result{true, whole.shape(), whole.dtype(), std::vector<std::byte>(whole.bytes())};
  if (!result.bytes.empty()) std::memcpy(result.bytes.data(), whole.data(), result.bytes.size());
  return result;
}

Tensor tensor_of_elements(const Elements& elements) {
  if (!elements.is_defined) return {};
  Tensor tensor = empty(elements.shape, elements.dtype);
  if (!elements.bytes.empty())
    std::memcpy(tensor.mutable_data(), elements.bytes.data(), elements.bytes.size());
  return tensor;
}

}  // namespace

LocalOutputs run_in_world(const WholeCall& call, const Dims& mesh_shape,
                          gsl::span<const std::vector<Tensor>* const> pieces,
                          const MeshPlacements& placements) {
  auto ranks = std::size_t(numel(mesh_shape));
  std::vector<std::vector<Elements>> given(ranks), made(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (const auto* of_input : pieces)
      given[rank].push_back(of_input->empty() ? Elements() : elements_of((*of_input)[rank]));
  World world({.ranks = ranks, .arithmetic = current_arithmetic()});
  Outcome outcome = world.run([&](Rank& rank) {
    auto groups = std::make_shared<MeshGroups>(init_device_mesh(mesh_shape));
    LocalSpecs specs(call, placements, groups);
    std::vector<Tensor> own;
    for (const Elements& elements : given[std::size_t(rank.id())])
      own.push_back(tensor_of_elements(elements));
    Tensor mask;
    for (const Tensor& output : call.strategy.compute(
             {call.op, own, call.attributes, specs.inputs(), specs.outputs(), mask}))
      made[std::size_t(rank.id())].push_back(elements_of(output));
  });
  try {
    outcome.rethrow();
  } catch (const Error&) {
    raise(ErrorKind::runtime_error, "sharding/validate", "{}", report(outcome));
  }
  LocalOutputs result;
  for (const auto& of_rank : made) {
    std::vector<Tensor> tensors;
    for (const Elements& elements : of_rank) tensors.push_back(tensor_of_elements(elements));
    result.of_rank.emplace_back(std::move(tensors));
  }
  return result;
}

LocalOutputs run_claimed(const LocalRun& ranks, const WholeCall& call,
                         gsl::span<const std::vector<Tensor>* const> pieces,
                         const MeshPlacements& placements, KnownResults* known) {
  try {
    return ranks.run(call, pieces, placements, known);
  } catch (const Error& error) {
    bool communicates = std::string_view(error.what()).starts_with("[engine/world]");
    if (!call.strategy.compute || !communicates) throw;
    return run_in_world(call, ranks.mesh_shape(), pieces, placements);
  }
}

}  // namespace simmesh
