#include "sharding/parallel/sequence_parallel.h"

#include "sharding/parallel/distribute_module.h"

namespace simmesh {

void SequenceParallel::apply(nn::Module& module, const DeviceMesh& mesh) const {
  replicate_parameters(module, mesh);
  Placement split = Shard(sequence_dim);
  module.add_pre_hook([split, mesh](nn::Module&, nn::Tensors inputs) {
    inputs[0] = laid_out(inputs[0], mesh, {split, split});
    return inputs;
  });
  if (!use_local_output) return;
  module.add_hook([](nn::Module&, const nn::Tensors&, nn::Tensors outputs) {
    outputs[0] = piece_of(outputs[0]);
    return outputs;
  });
}

}  // namespace simmesh
