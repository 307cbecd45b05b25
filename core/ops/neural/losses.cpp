#include "core/ops/neural/losses.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

std::int64_t number_of(LossReduction reduction) { return std::int64_t(reduction); }

Tensor reduced(const Tensor& loss, LossReduction reduction) {
  if (reduction == LossReduction::none) return loss;
  return reduction == LossReduction::mean ? mean(loss) : sum(loss);
}

TensorTypes reduced_loss_type(const TensorType& x, const Attributes& attributes) {
  bool keeps = reduction_of(attributes) == LossReduction::none;
  return {{keeps ? x.shape : Shape(), x.dtype}};
}

void check_targets(const Tensor& target, std::int64_t classes, std::int64_t ignore_index) {
  Tensor contiguous = target.contiguous();
  for (std::int64_t index : contiguous.values<std::int64_t>())
    if (index != ignore_index && (index < 0 || index >= classes))
      raise(ErrorKind::index_error, "nll_loss", "Target {} is out of bounds.", index);
}

TensorTypes nll_loss_types(gsl::span<const TensorType> inputs, const Attributes& attributes) {
  const TensorType &x = inputs[0], &target = inputs[1];
  if (x.shape.empty())
    raise(ErrorKind::value_error, "nll_loss", "Expected 1 or more dimensions (got 0)");
  if (target.dtype != DType::int64)
    raise(ErrorKind::runtime_error, "nll_loss", "expected scalar type Long but found {}",
          to_string(target.dtype));
  auto dim = std::size_t(class_dim(x.shape.size()));
  Shape expected = x.shape;
  std::int64_t classes = x.shape[dim];
  expected.erase(expected.begin() + std::ptrdiff_t(dim));
  if (target.shape != expected)
    raise(ErrorKind::value_error, "nll_loss", "Expected target size {}, got {}",
          to_string(DimSpan(expected)), to_string(DimSpan(target.shape)));
  if (inputs.size() > 2 && inputs[2].is_defined && inputs[2].shape != Shape{classes})
    raise(ErrorKind::runtime_error, "nll_loss",
          "weight tensor should be defined either for all {} classes or no classes but got weight "
          "tensor of shape: {}",
          classes, to_string(DimSpan(inputs[2].shape)));
  bool keeps = reduction_of(attributes) == LossReduction::none;
  return {{keeps ? expected : Shape(), x.dtype}, {{}, x.dtype}};
}

void nll_loss_kernel(gsl::span<const Tensor> inputs, const Attributes& attributes,
                     gsl::span<Tensor> outputs) {
  const Tensor &x = inputs[0], &target = inputs[1];
  Tensor weight = inputs.size() > 2 ? inputs[2] : Tensor();
  std::int64_t dim = class_dim(x.shape().size());
  auto ignore_index = attributes.get(attribute::ignore_index);
  check_targets(target, x.size(dim), ignore_index);
  ClassTargets targets = class_targets(target, dim, ignore_index);
  Tensor weights = target_weights(targets, weight, x.dtype());
  Tensor picked = masked_fill(gather(x, dim, targets.indices), targets.ignored, 0);
  Tensor loss = neg(weight.is_defined() ? picked * weights : picked);
  LossReduction reduction = reduction_of(attributes);
  Tensor total_weight = reduction == LossReduction::none ? zeros({}, x.dtype()) : sum(weights);
  Tensor result = reduction == LossReduction::none ? squeeze(loss, dim) : sum(loss);
  if (reduction == LossReduction::mean) result = result / total_weight;
  copy_(outputs[0], converted(result, x.dtype()));
  copy_(outputs[1], converted(total_weight, x.dtype()));
}

const Op nll_loss_op = {
    .name = "nll_loss_forward", .shape = nll_loss_types, .kernel = nll_loss_kernel};

// Returns the op of a loss of the difference of two tensors, which are broadcast.
using DifferenceLoss = Tensor (*)(const Tensor& difference, const Attributes& attributes);
Op difference_loss_op(const char* name, DifferenceLoss loss) {
  return {
      .name = name,
      .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
        return reduced_loss_type({broadcast_shapes(inputs), result_type(inputs)}, attributes);
      },
      .kernel =
          [loss](gsl::span<const Tensor> inputs, const Attributes& attributes,
                 gsl::span<Tensor> outputs) {
            Tensor losses = loss(inputs[0] - inputs[1], attributes);
            copy_(outputs[0], reduced(losses, reduction_of(attributes)));
          },
  };
}

const Op mse_loss_op = difference_loss_op(
    "mse_loss",
    [](const Tensor& difference, const Attributes&) { return difference * difference; });

const Op huber_loss_op =
    difference_loss_op("huber_loss", [](const Tensor& difference, const Attributes& attributes) {
      double delta = attributes.get(attribute::delta);
      Tensor z = abs(difference);
      return where(le(z, delta), z * z * 0.5, (z - 0.5 * delta) * delta);
    });

const Op smooth_l1_loss_op = difference_loss_op(
    "smooth_l1_loss", [](const Tensor& difference, const Attributes& attributes) {
      double beta = attributes.get(attribute::beta).as<double>();
      Tensor z = abs(difference);
      return where(lt(z, beta), z * z * 0.5 / beta, z - 0.5 * beta);
    });

// Inputs: x, target, weight, pos_weight.
Tensor logits_loss(gsl::span<const Tensor> inputs) {
  KeepUnrounded scope(false);  // only their sum may stay unrounded
  const Tensor &x = inputs[0], &target = inputs[1], &weight = inputs[2], &pos_weight = inputs[3];
  Tensor likely = logsigmoid(x);
  if (pos_weight.is_defined()) likely = likely * ((pos_weight - 1) * target + 1);
  Tensor loss = (1 - target) * x - likely;
  return weight.is_defined() ? loss * weight : loss;
}

const Op logits_loss_op = {
    .name = "binary_cross_entropy_with_logits",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      if (inputs[0].shape != inputs[1].shape)
        raise(ErrorKind::value_error, "binary_cross_entropy_with_logits",
              "Target size ({}) must be same as input size ({})",
              to_string(DimSpan(inputs[1].shape)), to_string(DimSpan(inputs[0].shape)));
      return reduced_loss_type(inputs[0], attributes);
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Tensor loss = reduced(logits_loss(inputs), reduction_of(attributes));
          copy_(outputs[0], converted(loss, outputs[0].dtype()));
        },
};

// Computes the loss for target probabilities, which label_smoothing mixes with equal ones.
Tensor probability_loss(const Tensor& x, const Tensor& target, const ClassLoss& options) {
  std::int64_t dim = class_dim(x.shape().size());
  auto classes = double(x.size(dim));
  double smoothing = options.label_smoothing;
  Tensor wanted = smoothing > 0 ? target * (1 - smoothing) + smoothing / classes : target;
  Tensor terms = log_softmax(x, dim) * wanted;
  if (options.weight.is_defined()) {
    Shape shape(x.shape().size(), 1);
    shape[std::size_t(dim)] = x.size(dim);
    terms = terms * reshape(options.weight, shape);
  }
  if (options.reduction == LossReduction::none) return neg(sum(terms, dim));
  Tensor total = neg(sum(terms));
  bool is_mean = options.reduction == LossReduction::mean;
  return is_mean ? total / (double(x.numel()) / classes) : total;
}

// Computes the loss against all classes with equal weight, for label_smoothing. The loss is masked
// in place, as in PyTorch: a distributed one keeps its placements, and the mask comes to it.
Tensor even_loss(const Tensor& likely, const Tensor& target, const ClassLoss& options) {
  std::int64_t dim = class_dim(likely.shape().size());
  Tensor terms = likely;
  if (options.weight.is_defined()) {
    Shape shape(likely.shape().size(), 1);
    shape[std::size_t(dim)] = likely.size(dim);
    terms = terms * reshape(options.weight, shape);
  }
  Tensor loss = neg(sum(terms, dim)), ignored = eq(target, options.ignore_index);
  masked_fill_(loss, ignored, 0);
  if (options.reduction == LossReduction::none) return loss;
  if (options.reduction == LossReduction::sum) return sum(loss);
  if (!options.weight.is_defined()) {
    Tensor count = sum(bitwise_not(ignored));
    return sum(loss) / count;
  }
  Tensor weights = gather(options.weight, 0, reshape(masked_fill(target, ignored, 0), {-1}));
  masked_fill_(weights, reshape(ignored, {-1}), 0);
  return sum(loss) / sum(weights);
}

}  // namespace

LossReduction reduction_of(const Attributes& attributes) {
  return LossReduction(attributes.get(attribute::reduction));
}

Tensor nll_loss(const Tensor& x, const Tensor& target, const ClassLoss& options) {
  return call(nll_loss_op, {x, target, options.weight},
              {attribute::reduction = number_of(options.reduction),
               attribute::ignore_index = options.ignore_index})[0];
}

Tensor cross_entropy(const Tensor& x, const Tensor& target, const ClassLoss& options) {
  if (is_floating_point(target.dtype())) {
    if (target.shape() != x.shape())
      raise(ErrorKind::value_error, "cross_entropy",
            "expected target probabilities of the shape {} of the input, got {}",
            to_string(DimSpan(x.shape())), to_string(DimSpan(target.shape())));
    return probability_loss(x, target, options);
  }
  Tensor likely = log_softmax(x, class_dim(x.shape().size()));
  Tensor loss = nll_loss(likely, target, options);
  double smoothing = options.label_smoothing;
  if (smoothing == 0) return loss;
  if (smoothing < 0 || smoothing > 1)
    raise(ErrorKind::runtime_error, "cross_entropy",
          "label_smoothing must be between 0.0 and 1.0. Got: {}", smoothing);
  auto classes = double(x.size(class_dim(x.shape().size())));
  return loss * (1 - smoothing) + even_loss(likely, target, options) * (smoothing / classes);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  return call_one(mse_loss_op, {x, target}, {attribute::reduction = number_of(reduction)});
}
Tensor l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  return reduced(abs(x - target), reduction);
}
Tensor huber_loss(const Tensor& x, const Tensor& target, LossReduction reduction, double delta) {
  return call_one(huber_loss_op, {x, target},
                  {attribute::reduction = number_of(reduction), attribute::delta = delta});
}
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction, double beta) {
  if (beta == 0) return l1_loss(x, target, reduction);
  return call_one(smooth_l1_loss_op, {x, target},
                  {attribute::reduction = number_of(reduction), attribute::beta = beta});
}
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const BinaryLoss& options) {
  return call_one(logits_loss_op, {x, target, options.weight, options.pos_weight},
                  {attribute::reduction = number_of(options.reduction)});
}

std::int64_t class_dim(std::size_t rank) { return rank == 1 ? 0 : 1; }

ClassTargets class_targets(const Tensor& target, std::int64_t dim, std::int64_t ignore_index) {
  Tensor ignored = eq(target, ignore_index);
  Tensor valid = masked_fill(target, ignored, 0);
  return {unsqueeze(ignored, dim), unsqueeze(valid, dim)};
}

Tensor target_weights(const ClassTargets& targets, const Tensor& weight, DType dtype) {
  Tensor chosen = weight.is_defined()
                      ? reshape(index_select(weight, 0, reshape(targets.indices, {-1})),
                                targets.indices.shape())
                      : ones_like(targets.indices, dtype);
  return masked_fill(chosen, targets.ignored, 0);
}

void losses_ops(OpList& ops) {
  ops.add({&nll_loss_op, &mse_loss_op, &huber_loss_op, &smooth_l1_loss_op, &logits_loss_op});
}

}  // namespace simmesh
