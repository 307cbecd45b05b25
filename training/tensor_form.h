#pragma once

#include "mesh/device_mesh.h"
#include "sharding/parallel/parallelize.h"
#include "training/training.h"

namespace simmesh {

// TensorForm is tensor parallelism of the usual layers, as Megatron splits them: attention by heads
// and the two layers of a perceptron by columns and rows (Shoeybi et al. 2019). Everything else is
// replicated. With sequence_parallel the normalisations, and the ops between blocks, run on
// sequences that are cut along dim 1, and a layer's input is gathered before it (Korthikanti et al.
// 2022).
//
// The experts of an nn::Moe are perceptrons like others, and split as they are, unless
// whole_experts leaves them whole on every rank. An nn::Moe takes whole sequences.
struct TensorForm {
  bool sequence_parallel = false;
  bool whole_experts = false;
};

// tensor_plan returns the styles of a model's modules: of each nn::Attention, each nn::GatedMlp and
// each perceptron with children fc1 and fc2 that this rank has, and with sequence_parallel of
// normalisations, of the child `pos` after which sequences are cut, and of the child `head`, before
// which they are gathered.
ParallelizePlan tensor_plan(nn::Module& model, const TensorForm& tensor);

// with_tensor returns a form of training in which the model is first distributed over a mesh of one
// dim. All ranks of the mesh take the same rows. Gradients that are partial after the last backward
// pass of a step are added up.
ParallelForm with_tensor(ParallelForm form, const TensorForm& tensor, const DeviceMesh& mesh);

}  // namespace simmesh
