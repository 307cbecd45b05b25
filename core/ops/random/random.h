#pragma once

#include <cstdint>
#include <optional>

#include "core/arithmetic/philox.h"
#include "core/ops/op.h"

namespace simmesh {

// Generator selects the random numbers that an op draws: an element's number depends on the
// generator and on its row-major index in the logical tensor only. Two draws from one generator are
// equal; next gives each draw its own.
//
//   Generator generator{.seed = 7};
//   Tensor a = randn({4, 2}, generator.next()), b = randn({4, 2}, generator.next());
struct Generator {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;

  // next returns the generator of one draw, and moves on to the next stream.
  Generator next() { return {seed, stream++}; }
  PhiloxKey key() const { return {seed, stream}; }
};

// For a distributed tensor every rank draws the numbers that one device draws for its piece, so all
// ranks must hold equal generators.
//
// RandomOptions are the options of a draw. A shard with a global shape draws the part of the
// logical tensor at its offset.
struct RandomOptions {
  DType dtype = DType::float32;
  ShardOfTensor shard = {};
};

// rand is uniform in [0, 1), randn normal with mean 0 and variance 1. Raises a NotImplementedError
// for dtypes that aren't floating.
Tensor rand(DimSpan shape, const Generator& generator, const RandomOptions& options = {});
Tensor randn(DimSpan shape, const Generator& generator, const RandomOptions& options = {});
inline Tensor rand(std::initializer_list<std::int64_t> shape, const Generator& generator,
                   const RandomOptions& options = {}) {
  return rand(DimSpan(shape.begin(), shape.size()), generator, options);
}
inline Tensor randn(std::initializer_list<std::int64_t> shape, const Generator& generator,
                    const RandomOptions& options = {}) {
  return randn(DimSpan(shape.begin(), shape.size()), generator, options);
}

// rand_like and randn_like draw a tensor of the shape of x, and of its dtype where none is given,
// distributed as x is, replicated where that is partial.
Tensor rand_like(const Tensor& x, const Generator& generator, std::optional<DType> dtype = {});
Tensor randn_like(const Tensor& x, const Generator& generator, std::optional<DType> dtype = {});

// bernoulli draws 1 with the probability of each element, else 0, in the dtype of the
// probabilities. Raises a RuntimeError for elements outside [0, 1].
Tensor bernoulli(const Tensor& probabilities, const Generator& generator,
                 const ShardOfTensor& shard = {});

// Dropout are the options of dropout.
struct Dropout {
  double p = 0.5;
  bool training = true;
  ShardOfTensor shard = {};
};
// dropout zeroes elements with probability p and scales the others by 1 / (1 - p); x itself
// outside training. Raises a ValueError for p outside [0, 1].
Tensor dropout(const Tensor& x, const Generator& generator, const Dropout& options = {});

// keeping_scale returns the factor of kept elements in dropout, 1 / (1 - p), which preserves the
// mean; 0 where none is kept.
double keeping_scale(double p);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<std::int64_t> seed{"seed"};
inline constexpr Attribute<std::int64_t> stream{"stream"};
inline constexpr Attribute<Dims> shape{"shape"};
inline constexpr Attribute<Dims> global_shape{"global_shape"};
inline constexpr Attribute<Dims> global_offset{"offset"};
inline constexpr Attribute<double> p{"p"};
}  // namespace attribute

}  // namespace simmesh
