#include "sharding/parallel/rowwise_parallel.h"

#include "core/check/error.h"
#include "core/nn/embedding.h"
#include "core/nn/linear.h"
#include "sharding/parallel/distribute_module.h"

namespace simmesh {

void RowwiseParallel::apply(nn::Module& module, const DeviceMesh& mesh) const {
  bool is_embedding = dynamic_cast<nn::Embedding*>(&module) != nullptr;
  if (!is_embedding && !dynamic_cast<nn::Linear*>(&module))
    raise(ErrorKind::not_implemented_error, "sharding/parallelize",
          "RowwiseParallel currently only supports nn::Linear and nn::Embedding");
  distribute_parameter(module, "weight", mesh, {Shard(is_embedding ? 0 : 1)});
  for (const nn::ParameterSlot& slot : std::vector(module.slots()))
    if (slot.tensor.is_defined() && slot.name != "weight")
      distribute_parameter(module, slot.name, mesh, {Replicate()});
  Placement wanted = is_embedding ? Replicate() : Shard(-1);
  add_layouts(module, mesh, {{input_layout, wanted}, output_layout, use_local_output});
}

}  // namespace simmesh
