#include "core/ops/random/random.h"

#include <bit>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/op_list.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

// Names of the arguments of draws: "seed", "stream" (bits of an int64), and for a shard
// "global_shape" and "offset".
Attributes draw_attributes(const Generator& generator, const ShardOfTensor& shard) {
  Attributes attributes{attribute::seed = std::bit_cast<std::int64_t>(generator.seed),
                        attribute::stream = std::bit_cast<std::int64_t>(generator.stream)};
  if (!shard.global_shape.empty()) {
    attributes.set(attribute::global_shape = shard.global_shape);
    attributes.set(attribute::global_offset = shard.offset);
  }
  return attributes;
}

PhiloxKey key_of(const Attributes& attributes) {
  return {std::bit_cast<std::uint64_t>(attributes.get(attribute::seed)),
          std::bit_cast<std::uint64_t>(attributes.get(attribute::stream))};
}

ShardOfTensor shard_of(const Attributes& attributes, const Shape& shape) {
  if (!attributes.has(attribute::global_shape)) return {shape, Dims(shape.size(), 0)};
  return {attributes.get(attribute::global_shape), attributes.get(attribute::global_offset)};
}

// Returns the op of a draw of a given shape, or of the shape of its input.
Op draw_op(std::string name, RandomKind kind) {
  auto shape = [name](gsl::span<const TensorType> inputs,
                      const Attributes& attributes) -> TensorTypes {
    DType dtype = attributes.get(attribute::dtype);
    if (!is_floating_point(dtype))
      raise(ErrorKind::not_implemented_error, name, "\"{}\" not implemented for '{}'", name,
            to_string(dtype));
    return {{inputs.empty() ? attributes.get(attribute::shape) : inputs[0].shape, dtype}};
  };
  auto kernel = [kind](gsl::span<const Tensor>, const Attributes& attributes,
                       gsl::span<Tensor> outputs) {
    fill_random(outputs[0], key_of(attributes), shard_of(attributes, outputs[0].shape()),
                {.kind = kind});
  };
  return {.name = std::move(name), .shape = shape, .kernel = kernel};
}
const Op rand_op = draw_op("rand", RandomKind::uniform);
const Op randn_op = draw_op("randn", RandomKind::normal);
const Op rand_like_op = draw_op("rand_like", RandomKind::uniform);
const Op randn_like_op = draw_op("randn_like", RandomKind::normal);

// Uniform numbers in [0, 1), one for each element.
Tensor uniform(const Shape& shape, const Attributes& attributes) {
  Tensor draws = empty(shape, DType::float32);
  if (draws.numel() > 0) fill_random(draws, key_of(attributes), shard_of(attributes, shape), {});
  return draws;
}

void check_probability(const Tensor& probabilities) {
  Tensor wide = converted(probabilities, DType::float64).contiguous();
  for (double p : wide.values<double>())
    if (!(p >= 0 && p <= 1))
      raise(ErrorKind::runtime_error, "bernoulli",
            "Expected p_in >= 0 && p_in <= 1 to be true, but got {}", p);
}

const Op bernoulli_op = {
    .name = "bernoulli",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      if (!is_floating_point(inputs[0].dtype))
        raise(ErrorKind::runtime_error, "bernoulli", "expected floating probabilities, got {}",
              to_string(inputs[0].dtype));
      return {inputs[0]};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          check_probability(inputs[0]);
          Tensor hits = lt(uniform(outputs[0].shape(), attributes), inputs[0]);
          copy_(outputs[0], converted(hits, outputs[0].dtype()));
        },
};

const Op dropout_op = {
    .name = "native_dropout",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      return {inputs[0], {inputs[0].shape, DType::boolean}};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          double p = attributes.get(attribute::p);
          copy_(outputs[1], lt(uniform(outputs[0].shape(), attributes), 1 - p));
          copy_(outputs[0], where(outputs[1], inputs[0] * keeping_scale(p), 0));
        },
};

Tensor drawn(const Op& op, DimSpan shape, const Generator& generator,
             const RandomOptions& options) {
  Attributes attributes = draw_attributes(generator, options.shard);
  attributes.set(attribute::shape = Dims(shape.begin(), shape.end()));
  attributes.set(attribute::dtype = options.dtype);
  return call_one(op, {}, attributes);
}

Tensor drawn_like(const Op& op, const Tensor& x, const Generator& generator,
                  std::optional<DType> dtype) {
  Attributes attributes = draw_attributes(generator, {});
  attributes.set(attribute::dtype = dtype.value_or(x.dtype()));
  return call_one(op, {x.detach()}, attributes);
}

}  // namespace

Tensor rand(DimSpan shape, const Generator& generator, const RandomOptions& options) {
  return drawn(rand_op, shape, generator, options);
}
Tensor randn(DimSpan shape, const Generator& generator, const RandomOptions& options) {
  return drawn(randn_op, shape, generator, options);
}
Tensor rand_like(const Tensor& x, const Generator& generator, std::optional<DType> dtype) {
  return drawn_like(rand_like_op, x, generator, dtype);
}
Tensor randn_like(const Tensor& x, const Generator& generator, std::optional<DType> dtype) {
  return drawn_like(randn_like_op, x, generator, dtype);
}
Tensor bernoulli(const Tensor& probabilities, const Generator& generator,
                 const ShardOfTensor& shard) {
  return call_one(bernoulli_op, {probabilities}, draw_attributes(generator, shard));
}
double keeping_scale(double p) { return p == 1 ? 0.0 : 1 / (1 - p); }

Tensor dropout(const Tensor& x, const Generator& generator, const Dropout& options) {
  if (!(options.p >= 0 && options.p <= 1))
    raise(ErrorKind::value_error, "dropout",
          "dropout probability has to be between 0 and 1, but got {}", options.p);
  if (!options.training || options.p == 0) return x;
  Attributes attributes = draw_attributes(generator, options.shard);
  attributes.set(attribute::p = options.p);
  return call(dropout_op, {x}, attributes)[0];
}

void random_ops(OpList& ops) {
  ops.add({&rand_op, &randn_op, &rand_like_op, &randn_like_op, &bernoulli_op, &dropout_op});
}

}  // namespace simmesh
