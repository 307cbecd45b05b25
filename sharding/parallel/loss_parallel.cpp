#include "sharding/parallel/loss_parallel.h"

#include "core/autograd/function.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/neural/losses.h"
#include "core/ops/reductions/extremes.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "sharding/api/dtensor_gradient.h"

namespace simmesh {

namespace {

constexpr std::string_view loss_parallel_source = "sharding/loss_parallel";

Tensor finished(const Tensor& partial) {
  DTensor x = DTensor::of(partial);
  return x.redistribute(without_partial(x.placements())).as_tensor();
}

// Returns the mesh dim that splits the classes.
std::size_t class_mesh_dim(const DTensor& logits, std::int64_t dim) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < logits.placements().size(); ++i) {
    const Placement& one = logits.placements()[i];
    bool splits_classes = one.splits(dim);
    if (one.is_partial() || (splits_classes && found))
      raise(ErrorKind::value_error, loss_parallel_source,
            "expected logits whose dim {} one mesh dim splits, and no Partial placements, got {}",
            dim, to_string(logits.spec()));
    if (splits_classes) found = i;
  }
  if (!found)
    raise(ErrorKind::value_error, loss_parallel_source,
          "expected logits whose dim {} one mesh dim splits, got {}", dim,
          to_string(logits.spec()));
  return *found;
}

// Returns the placements of a target: those of the logits, without the dim of the classes.
Placements target_placements(const DTensor& logits, std::int64_t dim) {
  Placements result = logits.placements();
  for (Placement& one : result) {
    if (one.splits(dim)) one = Replicate();
    if (one.splits() && one.dim() > dim) one = one.with_dim(one.dim() - 1);
  }
  return result;
}

Tensor distributed_target(const Tensor& target, const DTensor& logits, std::int64_t dim) {
  Placements wanted = target_placements(logits, dim);
  if (target.distribution()) return DTensor::of(target).redistribute(wanted).as_tensor();
  for (const Placement& one : wanted)
    if (!one.is_replicate())
      raise(ErrorKind::value_error, loss_parallel_source,
            "expected a distributed target, since the logits have the placements {} and a plain "
            "target would be "
            "split like them",
            to_string(logits.spec()));
  return DTensor({logits.spec().groups, {wanted, {}}, target.shape(), target.dtype()},
                 target.detach())
      .as_tensor();
}

Tensor replicated(const Tensor& tensor, const DTensor& beside) {
  if (!tensor.is_defined() || tensor.distribution()) return tensor;
  return distribute_tensor(tensor.detach(), beside.mesh(),
                           Placements(beside.placements().size(), Replicate()),
                           {.from_first_rank = false})
      .as_tensor();
}

// Returns the numbers of the classes, along the class dim of the logits and sharded like it.
Tensor class_numbers(const DTensor& logits, std::int64_t dim, std::size_t mesh_dim) {
  std::int64_t classes = logits.shape()[std::size_t(dim)];
  Shape shape(logits.shape().size(), 1);
  shape[std::size_t(dim)] = classes;
  Placements placements(logits.placements().size(), Replicate());
  placements[mesh_dim] = logits.placements()[mesh_dim];
  return distribute_tensor(view(arange(classes), shape), logits.mesh(), placements,
                           {.from_first_rank = false})
      .as_tensor();
}

// Tensors that the forward pass keeps for the backward pass.
struct Kept {
  Tensor likely;  // log_softmax, split along the classes
  ClassTargets targets;
  Tensor weights, total_weight;
  Tensor numbers;
  std::int64_t dim;
  LossReduction reduction;
};

Tensor log_softmax_of(const Tensor& logits, std::int64_t dim) {
  bool is_short = bytes_per_element(logits.dtype()) == 2;
  Tensor x = is_short ? to(logits, DType::float32) : logits;
  Tensor less = x - finished(amax(x, dim, true));
  Tensor likely = less - log(finished(sum(exp(less), dim, true)));
  return is_short ? to(likely, logits.dtype()) : likely;
}

Tensor loss_of(const Kept& kept, bool has_weight) {
  Tensor picked = finished(gather(kept.likely, kept.dim, kept.targets.indices));
  picked = masked_fill(picked, kept.targets.ignored, 0);
  Tensor loss = neg(has_weight ? picked * kept.weights : picked);
  if (kept.reduction == LossReduction::none) return squeeze(loss, kept.dim);
  Tensor total = finished(sum(loss));
  return kept.reduction == LossReduction::mean ? total / kept.total_weight : total;
}

// Computes the gradients of log_softmax and of picking the elements at once: the sum of a row's
// gradients is known without adding them. Adding 0.0 turns a negative zero positive, as an addition
// to zeros does.
Tensor gradient_of_logits(const Kept& kept, Tensor g) {
  if (kept.reduction == LossReduction::none) g = unsqueeze(g, kept.dim);
  if (kept.reduction == LossReduction::mean) g = g / kept.total_weight;
  Tensor slopes = to(neg(kept.weights) * g, kept.likely.dtype()) + 0.0;
  Tensor picked = where(eq(kept.numbers, kept.targets.indices), slopes, zeros_like(slopes));
  return picked - exp(kept.likely) * slopes;
}

}  // namespace

Tensor loss_parallel_cross_entropy(const Tensor& logits, const Tensor& target,
                                   const ClassLoss& options) {
  if (options.label_smoothing != 0.0)
    raise(ErrorKind::value_error, loss_parallel_source, "expected no label_smoothing, got {}",
          options.label_smoothing);
  DTensor x = DTensor::of(logits);
  std::int64_t dim = class_dim(logits.shape().size());
  std::size_t mesh_dim = class_mesh_dim(x, dim);
  Kept kept{.dim = dim, .reduction = options.reduction};
  Tensor loss;
  {
    NoGrad mode;
    kept.likely = log_softmax_of(x.with_local(x.local()).as_tensor(), dim);
    Tensor placed = distributed_target(target, x, dim);
    kept.targets = class_targets(placed, dim, options.ignore_index);
    kept.weights = target_weights(kept.targets, replicated(options.weight, x), x.dtype());
    kept.total_weight =
        options.reduction == LossReduction::none ? Tensor() : finished(sum(kept.weights));
    kept.numbers = class_numbers(x, dim, mesh_dim);
    loss = loss_of(kept, options.weight.is_defined());
  }
  record_function("loss_parallel_cross_entropy", {logits}, {&loss},
                  [kept](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
                    if (!gradients[0].is_defined()) return {Tensor()};
                    return {gradient_of_logits(kept, gradients[0])};
                  });
  return loss;
}

}  // namespace simmesh
