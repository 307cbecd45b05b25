#include "sharding/parallel/rowwise_parallel.h"

#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/nn/embedding.h"
#include "core/nn/linear.h"
#include "core/tensor/chunk.h"
#include "sharding/parallel/distribute_module.h"

namespace simmesh {

namespace {

// A rank can't see from its own piece that pieces are unequal, but the layer knows all sizes.
void check_piece(const Tensor& piece, const DTensor& weight) {
  std::int64_t inputs = weight.shape()[1], ranks = weight.mesh().size(), dim = piece.dim() - 1;
  if (dim < 0 || piece.size(dim) * ranks == inputs) return;
  std::vector<std::int64_t> sizes;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    sizes.push_back(chunk_of({.size = inputs, .parts = ranks, .index = rank}).length);
  raise(ErrorKind::runtime_error, "sharding/parallelize",
        "rank {}: a row-wise layer of {} inputs got a plain piece of {} along dim {}. Plain pieces "
        "have one size on all {} ranks; the layer's own are [{}]. Hand it a distributed tensor, "
        "for instance by use_local_output = false of the layer before",
        weight.mesh().get_rank(), inputs, piece.size(dim), dim, ranks, join_text(sizes, ", "));
}

}  // namespace

void RowwiseParallel::apply(nn::Module& module, const DeviceMesh& mesh) const {
  bool is_embedding = dynamic_cast<nn::Embedding*>(&module) != nullptr;
  if (!is_embedding && !dynamic_cast<nn::Linear*>(&module))
    raise(ErrorKind::not_implemented_error, "sharding/parallelize",
          "RowwiseParallel currently only supports nn::Linear and nn::Embedding");
  distribute_parameter(module, "weight", mesh, {Shard(is_embedding ? 0 : 1)});
  for (const nn::ParameterSlot& slot : std::vector(module.slots()))
    if (slot.tensor.is_defined() && slot.name != "weight")
      distribute_parameter(module, slot.name, mesh, {Replicate()});
  if (!is_embedding && input_layout.splits())
    module.add_pre_hook([layout = input_layout](nn::Module& self, nn::Tensors inputs) {
      bool splits_columns =
          layout.dim() == -1 || layout.dim() == std::int64_t(inputs[0].shape().size()) - 1;
      if (!inputs[0].distribution() && splits_columns)
        check_piece(inputs[0], DTensor::of(self.parameter("weight")));
      return inputs;
    });
  Placement wanted = is_embedding ? Replicate() : Shard(-1);
  add_layouts(module, mesh, {{input_layout, wanted}, output_layout, use_local_output});
}

}  // namespace simmesh
