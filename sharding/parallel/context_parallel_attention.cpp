#include "sharding/parallel/context_parallel_attention.h"

#include <cmath>

#include "core/autograd/function.h"
#include "core/check/error.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/neural/attention.h"
#include "core/ops/shapes/views.h"
#include "sharding/parallel/head_exchange.h"
#include "sharding/parallel/row_attention.h"

namespace simmesh {

namespace {

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  bool fits = q.dim() == 4 && k.dim() == 4 && v.dim() == 4;
  fits = fits && q.dtype() == k.dtype() && q.dtype() == v.dtype();
  fits = fits && q.size(0) == k.size(0) && k.size(0) == v.size(0) && k.size(1) == v.size(1);
  fits = fits && q.size(2) == k.size(2) && k.size(2) == v.size(2) && q.size(3) == k.size(3);
  fits = fits && k.size(1) > 0 && q.size(1) % k.size(1) == 0;
  if (!fits)
    raise(
        ErrorKind::value_error, "sharding/context_parallel",
        "expected q [B, H, T, E], k [B, K, T, E] and v [B, K, T, F] of one dtype, where K divides "
        "H, got {}{}, {}{} and {}{}",
        to_string(q.dtype()), to_string(DimSpan(q.shape())), to_string(k.dtype()),
        to_string(DimSpan(k.shape())), to_string(v.dtype()), to_string(DimSpan(v.shape())));
}

// Returns one of several equal heads, as a tensor of its own.
Tensor unshared(const Tensor& x, std::int64_t heads) {
  return contiguous(slice(x.detach(), {.dim = 1, .step = x.size(1) / heads}));
}

struct Exchanged {
  std::shared_ptr<const KeyValueExchange> exchange;
  RowAttention::Options rows;

  Tensor forward(const Tensor& q, const KeyValue& own) const {
    RowAttention attention(rows, q);
    std::vector<KeyValue> blocks = gathered(attention, own);
    return attention.output(blocks);
  }

  std::vector<Tensor> backward(const Tensor& q, const KeyValue& own, const Tensor& gradient) const {
    RowAttention attention(rows, q);
    std::vector<KeyValue> blocks = gathered(attention, own);
    RowAttention::Gradients gradients = attention.gradients(blocks, gradient);
    KeyValue sums = exchange->sum_at_owners(std::move(gradients.terms));
    return {gradients.q, sums.k, sums.v};
  }

 private:
  std::vector<KeyValue> gathered(RowAttention& attention, const KeyValue& own) const {
    return exchange->gather(
        own, [&](std::int64_t rank, const KeyValue& block) { attention.add_keys(rank, block.k); });
  }
};

std::shared_ptr<const KeyValueExchange> exchange_of(ContextMethod method,
                                                    const SequenceSplit& split,
                                                    const ProcessGroup& group) {
  if (method == ContextMethod::ring) return std::make_shared<RingExchange>(split, group);
  return std::make_shared<GatherExchange>(split, group);
}

// The tape gets keys and values with a head for each head of the queries, so that gradients of
// shared heads add up as on one device; the messages have each head once.
Tensor exchanged_attention(const Tensor& q, const KeyValue& shared, const KeyValue& repeated,
                           const Exchanged& how) {
  Tensor own_q = q.detach();
  std::int64_t heads = shared.k.size(1);
  KeyValue own{unshared(repeated.k, heads), unshared(repeated.v, heads)};
  Tensor result = how.forward(own_q, own);
  record_function("context_parallel_attention", {q, repeated.k, repeated.v}, {&result},
                  [=](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
                    return how.backward(own_q, own, gradients[0]);
                  });
  return result;
}

Tensor headwise_attention(const Tensor& q, const KeyValue& shared, const KeyValue& repeated,
                          const SequenceSplit& split, const ContextParallelOptions& options,
                          const ProcessGroup& group) {
  bool keeps_shared = shared.k.size(1) >= group.size();
  const KeyValue& sent = keeps_shared ? shared : repeated;
  HeadExchange exchange({split, sent.k.size(1)}, group);
  Tensor own_q = exchange.to_heads(q), k = exchange.to_heads(sent.k), v = exchange.to_heads(sent.v);
  if (std::int64_t heads = own_q.size(1); k.size(1) != heads) {
    k = repeat_interleave(k, heads / k.size(1), 1);
    v = repeat_interleave(v, heads / v.size(1), 1);
  }
  return exchange.to_sequence(scaled_dot_product_attention(
      own_q, k, v, {.is_causal = options.is_causal, .scale = options.scale}));
}

}  // namespace

Tensor context_parallel_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const ProcessGroup& group,
                                  const ContextParallelOptions& options) {
  check_shapes(q, k, v);
  return context_parallel_attention(q, k, v, agreed_split(q.size(2), options.order, group), group,
                                    options);
}

Tensor context_parallel_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const SequenceSplit& split, const ProcessGroup& group,
                                  const ContextParallelOptions& options) {
  check_shapes(q, k, v);
  if (q.size(2) != split.length_of(group.rank()))
    raise(ErrorKind::value_error, "sharding/context_parallel",
          "rank {} of the group: expected {} of {} positions, got {}", group.rank(),
          split.length_of(group.rank()), split.length, q.size(2));
  std::int64_t repeats = q.size(1) / k.size(1);
  KeyValue shared{k, v}, repeated = shared;
  if (repeats != 1) repeated = {repeat_interleave(k, repeats, 1), repeat_interleave(v, repeats, 1)};
  if (options.method == ContextMethod::ulysses)
    return headwise_attention(q, shared, repeated, split, options, group);
  double scale = options.scale.value_or(1 / std::sqrt(double(q.size(3))));
  return exchanged_attention(
      q, shared, repeated,
      {exchange_of(options.method, split, group), {split, group.rank(), options.is_causal, scale}});
}

}  // namespace simmesh
