#include "sharding/parallel/context_parallel.h"

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/nn/embedding.h"
#include "core/ops/neural/rotary.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

namespace {

Tensor piece_or_self(const Tensor& x) { return x.distribution() ? DTensor::of(x).to_local() : x; }

// Gives the result the layout of the queries.
Tensor laid_out_like(const Tensor& result, const Tensor& q) {
  if (!q.distribution()) return result;
  DTensor like = DTensor::of(q);
  return from_local(result, like.mesh(), like.placements(), {.shape = q.shape()}).as_tensor();
}

struct Inputs {
  const Tensor &q, &k, &v;
};

Tensor position_tensor(const SequenceSplit& split, std::int64_t rank) {
  return by_rank(arange(split.length), 0, split)[std::size_t(rank)];
}

Tensor attended(const nn::Attention& self, const Inputs& inputs, const ContextParallel& style,
                const ProcessGroup& group) {
  Tensor q = piece_or_self(inputs.q), k = piece_or_self(inputs.k), v = piece_or_self(inputs.v);
  SequenceSplit split = agreed_split(q.size(2), style.order, group);
  if (self.rotary_theta()) {
    Tensor positions = position_tensor(split, group.rank());
    q = rotary_embedding(q, positions, *self.rotary_theta());
    k = rotary_embedding(k, positions, *self.rotary_theta());
  }
  ContextParallelOptions options{
      .method = style.method, .order = style.order, .is_causal = self.is_causal(), .scale = {}};
  return laid_out_like(context_parallel_attention(q, k, v, split, group, options), inputs.q);
}

}  // namespace

void ContextParallel::apply(nn::Module& module, const DeviceMesh& mesh) const {
  ProcessGroup group = process_group(mesh);
  bool found = false;
  for (const auto& [path, below] : module.named_modules()) {
    if (auto* position = dynamic_cast<nn::Position*>(below))
      position->set_rows([group, order = order](const Tensor& weight, std::int64_t positions) {
        SequenceSplit split = agreed_split(positions, order, group);
        Tensor rows = slice(weight, {.dim = 0, .end = split.length});
        return by_rank(rows, 0, split)[std::size_t(group.rank())];
      });
    if (auto* attention = dynamic_cast<nn::Attention*>(below)) {
      found = true;
      attention->set_mix([group, style = *this](const nn::Attention& self, const Tensor& q,
                                                const Tensor& k, const Tensor& v) {
        return attended(self, {q, k, v}, style, group);
      });
    }
  }
  if (!found)
    raise(ErrorKind::value_error, "sharding/context_parallel",
          "expected a module with an nn::Attention, got one without");
}

Tensor context_parallel_shard(const Tensor& whole, const ContextShard& shard,
                              const ProcessGroup& group) {
  SequenceSplit split{whole.size(shard.dim), group.size(), shard.order};
  return by_rank(whole, shard.dim, split)[std::size_t(group.rank())];
}

Tensor context_parallel_unshard(const Tensor& part, const ContextShard& shard,
                                const ProcessGroup& group) {
  std::vector<Tensor> parts = all_gather_list(part.detach(), group);
  std::vector<std::int64_t> lengths;
  for (const Tensor& one : parts) lengths.push_back(one.size(shard.dim));
  return in_sequence_order(parts, shard.dim, split_of_lengths(lengths, shard.order));
}

}  // namespace simmesh
