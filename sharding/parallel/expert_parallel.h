#pragma once

#include "core/nn/moe.h"
#include "mesh/device_mesh.h"
#include "sharding/placement/placement.h"

namespace simmesh {

// ExpertParallel distributes the experts of each nn::Moe in a module, or of the module itself, over
// the ranks of a mesh of one dim: rank r keeps the r-th part of the experts by the rule of
// torch.chunk, and the parameters of the others become absent. Router and shared experts stay on
// each rank.
//
// tokens is the placement of x [..., width] on the ranks:
//   Shard(d)      each has its part along dim d, of any size, also none: the ranks are data
//                 parallel. Counts of rows by expert and choice are exchanged by one all-to-all,
//                 then the rows by another, and the results go back by a third; backward has two.
//                 With a capacity factor the ranks first gather all choices, since an expert takes
//                 its tokens in the order of one device: one all_gather of int64. Where the
//                 module knows its part of all tokens (nn::Moe::TokenPart), it sums counts instead
//   Replicate()   all have all tokens: each computes its experts', and the results are gathered by
//                 one all_gather, the gradients of the experts' inputs by another
//
// The collectives are those of a group of its own, "experts", of the ranks of the mesh.
//
// In exact arithmetic the outputs and gradients have the bits of one device's nn::Moe over all
// tokens. The rank that has an expert gets its whole gradient, over the tokens of all ranks, so
// nothing is left to sum. The gradients of router and shared experts are, with sharded tokens,
// those of this rank's tokens, to be summed over the ranks; with replicated tokens the whole ones.
// Where a rank's loss is a mean that is averaged over ranks, gradients of experts are too large by
// the number of ranks, as all sums are.
//
//   ExpertParallel{.tokens = Shard(0)}.apply(model, mesh["ep"]);
struct ExpertParallel {
  Placement tokens = Shard(0);
  // If above 0, neighbouring ranks are on nodes of this size, and rows of cut tokens are exchanged
  // in two steps, within nodes and between them (HierarchicalExchange).
  std::int64_t ranks_per_node = 0;

  // apply raises a ValueError where there is no nn::Moe, and for a partial placement. A call of the
  // module raises a ValueError where replicated tokens differ in number between ranks.
  void apply(nn::Module& module, const DeviceMesh& mesh) const;
};

// is_expert_parameter is true if a parameter at a dotted path belongs to an expert of an nn::Moe
// below the module, so that its gradient isn't to be summed over the ranks of ExpertParallel.
bool is_expert_parameter(nn::Module& module, std::string_view path);

}  // namespace simmesh
