#include "sharding/parallel/colwise_parallel.h"

#include "core/check/error.h"
#include "core/nn/embedding.h"
#include "core/nn/linear.h"
#include "sharding/parallel/distribute_module.h"

namespace simmesh {

void ColwiseParallel::apply(nn::Module& module, const DeviceMesh& mesh) const {
  bool is_embedding = dynamic_cast<nn::Embedding*>(&module) != nullptr;
  if (!is_embedding && !dynamic_cast<nn::Linear*>(&module))
    raise(ErrorKind::not_implemented_error, "sharding/parallelize",
          "ColwiseParallel currently only supports nn::Linear and nn::Embedding");
  for (const nn::ParameterSlot& slot : std::vector(module.slots()))
    if (slot.tensor.is_defined())
      distribute_parameter(module, slot.name, mesh, {Shard(is_embedding ? 1 : 0)});
  add_layouts(module, mesh, {{input_layout, Replicate()}, output_layout, use_local_output});
}

}  // namespace simmesh
