#pragma once

#include "mesh/device_mesh.h"
#include "sharding/parallel/parallelize.h"
#include "training/training.h"

namespace simmesh {

// TensorForm is tensor parallelism of the usual layers, as Megatron splits them: attention by heads
// and the two layers of a perceptron by columns and rows (Shoeybi et al. 2019). All else is
// replicated. With sequence_parallel the normalisations, and what stands between blocks, run on
// sequences that are cut along dim 1, and what each layer needs whole is gathered before it
// (Korthikanti et al. 2022).
struct TensorForm {
  bool sequence_parallel = false;
};

// tensor_plan returns the styles of a model's modules: of each nn::Attention, each nn::GatedMlp and
// each perceptron with children fc1 and fc2, and with sequence_parallel of normalisations, of the
// child `pos` after which sequences are cut, and of the child `head`, before which they are
// gathered.
ParallelizePlan tensor_plan(nn::Module& model, const TensorForm& tensor);

// with_tensor returns a form of training in which the model is spread over a mesh of one dim before
// anything else is done to it. All ranks of the mesh take the same rows. Gradients that are partial
// after the last backward pass of a step are added up.
ParallelForm with_tensor(ParallelForm form, const TensorForm& tensor, const DeviceMesh& mesh);

}  // namespace simmesh
