#include "core/arithmetic/self_check.h"

#include <fmt/format.h>
#include <type_traits>

#include "core/arithmetic/carried_product.h"
#include "core/arithmetic/exact_product.h"
#include "core/arithmetic/exact_sums.h"
#include "core/arithmetic/functions.h"
#include "core/arithmetic/philox.h"
#include "core/arithmetic/product.h"
#include "core/arithmetic/scaled_sums.h"
#include "core/arithmetic/sums.h"
#include "core/check/bits_hash.h"
#include "core/tensor/formula.h"

namespace simmesh {

namespace {

constexpr DType floating[] = {DType::float64, DType::float32, DType::bfloat16, DType::float16};

struct Size {
  std::int64_t rows, columns, depth;
};
// Full tiles and every kind of tail, and a depth over the blocks.
constexpr Size sizes[] = {{1, 1, 1}, {13, 37, 29}, {48, 64, 300}, {3, 200, 70}, {150, 5, 64}};

Tensor values(DimSpan shape, DType dtype, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::wide, .seed = seed, .dtype = dtype});
}

Tensor matrix(std::int64_t rows, std::int64_t columns, DType dtype, std::uint64_t seed) {
  Dims shape = {rows, columns};
  return values(shape, dtype, seed);
}

void update(BitsHash& hash, const Tensor& tensor) { hash.update({tensor.data(), tensor.bytes()}); }

std::uint64_t products(bool is_exact, DType dtype, InstructionSet set) {
  BitsHash hash;
  for (const Size& size : sizes) {
    Tensor a = matrix(size.rows, size.depth, dtype, 1),
           b = matrix(size.depth, size.columns, dtype, 2);
    Tensor result = empty({size.rows, size.columns}, dtype);
    Product product{.rows = size.rows,
                    .columns = size.columns,
                    .depth = size.depth,
                    .a = {a.data(), dtype, size.depth, 1},
                    .b = {b.data(), dtype, size.columns, 1},
                    .result = result.mutable_data(),
                    .result_dtype = dtype,
                    .result_row_stride = size.columns};
    is_exact ? exact_product(product, set) : canonical_product(product, set);
    update(hash, result);
  }
  return hash.value();
}

std::uint64_t carried(DType dtype, InstructionSet set) {
  BitsHash hash;
  for (const Size& size : sizes) {
    Tensor a = matrix(size.rows, size.depth, dtype, 3),
           b = matrix(size.depth, size.columns, dtype, 4);
    CarriedSums sums = carried_product({.rows = size.rows,
                                        .columns = size.columns,
                                        .depth = size.depth,
                                        .a = {a.data(), dtype, size.depth, 1},
                                        .b = {b.data(), dtype, size.columns, 1}},
                                       set);
    Tensor value = empty({size.rows, size.columns}, dtype);
    sums.round(value.mutable_data(), dtype);
    update(hash, value);
    divided(sums, 3).round(value.mutable_data(), dtype);
    update(hash, value);
  }
  return hash.value();
}

std::uint64_t sums(bool is_exact, DType dtype, InstructionSet set) {
  BitsHash hash;
  for (const Size& size : sizes)
    for (SumTerm term :
         {SumTerm::identity, SumTerm::square, SumTerm::absolute, SumTerm::squared_deviation}) {
      Dims shape = {size.rows, size.depth, size.columns};
      Tensor data = values(shape, dtype, 5), result = empty({size.rows, size.columns}, dtype);
      std::vector<double> means(std::size_t(size.rows * size.columns), 0.125);
      SumRequest request{.data = data.data(),
                         .dtype = dtype,
                         .outer = size.rows,
                         .count = size.depth,
                         .inner = size.columns,
                         .term = term,
                         .means = means,
                         .result = result.mutable_data(),
                         .result_dtype = dtype};
      is_exact ? exact_sum(request, set) : canonical_sum(request, set);
      update(hash, result);
    }
  return hash.value();
}

// Small and large magnitudes of both signs.
std::uint64_t function_bits(Function function, DType dtype, InstructionSet set) {
  Dims shape = {4099};
  Tensor x = values(shape, dtype, 6), y = empty(shape, dtype);
  BitsHash hash;
  for (int round = 0; round < 3; ++round) {
    apply_function({.function = function,
                    .dtype = dtype,
                    .operand = x.data(),
                    .result = y.mutable_data(),
                    .count = 4099},
                   set);
    // A NaN's bits are the processor's.
    visit_dtype(dtype, [&]<class T>(T) {
      if constexpr (std::is_floating_point_v<T>) {
        for (T& value : y.mutable_values<T>())
          if (value != value) value = T(0);
        for (T& value : x.mutable_values<T>())
          value = T(value * T(round == 0 ? 100 : 0.0009765625));
      }
    });
    update(hash, y);
  }
  return hash.value();
}

std::uint64_t power_bits() {
  BitsHash hash;
  for (int i = 1; i < 500; ++i) {
    double result = power(i * 0.37, (i % 41) * 0.73 - 14);
    hash.update(gsl::as_bytes(gsl::span<const double>(&result, 1)));
  }
  return hash.value();
}

std::uint64_t random_bits(RandomKind kind) {
  BitsHash hash;
  for (DType dtype : floating) {
    Tensor tensor = empty({33, 7}, dtype);
    fill_random(tensor, {.seed = 42, .stream = 3}, {.kind = kind});
    update(hash, tensor);
  }
  return hash.value();
}

// Recorded with gcc 12, portable, avx2 and avx512, which agree, as does clang 14.
struct Recorded {
  const char* name;
  std::uint64_t hash;
};
constexpr Recorded recorded[] = {
    {"canonical product float64", 0x55bf57cfdea8a1b5u},
    {"canonical product float32", 0x56ab3095721594bcu},
    {"canonical product bfloat16", 0x98171a70521f83ccu},
    {"canonical product float16", 0x0174191e945b9184u},
    {"exact product float64", 0x55bf57cfdea8a1b5u},
    {"exact product float32", 0x8224634b178f4fefu},
    {"exact product bfloat16", 0x98171a70521f83ccu},
    {"exact product float16", 0x945c8d358d40dbb0u},
    {"product int64", 0x5acfe1bab6b97146u},
    {"product int32", 0xc814f867268541cdu},
    {"product uint8", 0x79a09c3083bfc3f1u},
    {"carried product float64", 0x09b3eb15081bdd85u},
    {"carried product float32", 0x6d800be254fee407u},
    {"carried product bfloat16", 0xe98c8da1fe7983e4u},
    {"carried product float16", 0xfc6f676511b278eeu},
    {"canonical sum float64", 0x62a72157d9dc2b04u},
    {"canonical sum float32", 0xe1f01d03a5ff7ad6u},
    {"canonical sum bfloat16", 0x4bb1e20b7f9258bcu},
    {"canonical sum float16", 0x9a66a28784932075u},
    {"exact sum float64", 0x62a72157d9dc2b04u},
    {"exact sum float32", 0x060bf497ab6bac13u},
    {"exact sum bfloat16", 0xb1f3d4b04736ab27u},
    {"exact sum float16", 0x00aab0236ea0a224u},
    {"exp float64", 0x355c65f043d73a7eu},
    {"exp float32", 0xb9ad68856799f4fbu},
    {"expm1 float64", 0x14d7e16c69de594eu},
    {"expm1 float32", 0x884c486533d826e1u},
    {"log float64", 0x66b921fd90d6a2d7u},
    {"log float32", 0x4b79cf7600bf1edfu},
    {"log1p float64", 0x4439bcad0f83e890u},
    {"log1p float32", 0x20ddf132de6a572fu},
    {"log2 float64", 0xa8830952becf834au},
    {"log2 float32", 0x7b03bde448a57a91u},
    {"tanh float64", 0xded3596cee1e9c17u},
    {"tanh float32", 0xfb011f2ea0ff3021u},
    {"sigmoid float64", 0x317fe05003882d79u},
    {"sigmoid float32", 0xe93269ed23ee9ae3u},
    {"erf float64", 0x0439d24f29eb6bb3u},
    {"erf float32", 0x9f8e19e4a87e3b35u},
    {"sin float64", 0xbccd235133c1b11cu},
    {"sin float32", 0xa0e45185bcd02258u},
    {"cos float64", 0xc00df0a8b4cc8d4fu},
    {"cos float32", 0x01af13f742afafbau},
    {"sqrt float64", 0xb24568f2ad059d3au},
    {"sqrt float32", 0xfff62535c190d1f8u},
    {"rsqrt float64", 0x960a0c30eb644d72u},
    {"rsqrt float32", 0xceaa9cadc0e49973u},
    {"log10 float64", 0x39b02a1ca9b644acu},
    {"log10 float32", 0x415a962d74790929u},
    {"sinh float64", 0xfbf3f48faf38900au},
    {"sinh float32", 0xf31ebd67c157a569u},
    {"cosh float64", 0xc9a033842ac9b2f8u},
    {"cosh float32", 0xb37456ae7e390567u},
    {"asin float64", 0xb3888acbd6946ca7u},
    {"asin float32", 0x2c91863d2c70b53eu},
    {"acos float64", 0xf93568d69723e0adu},
    {"acos float32", 0x6b57f7d899bacc2eu},
    {"atan float64", 0xce3a0531fbbb7e96u},
    {"atan float32", 0xbe3c57a2d69e3c6eu},
    {"asinh float64", 0xee698fda14ee3993u},
    {"asinh float32", 0x70600d9bed6bf5e7u},
    {"acosh float64", 0xa00fb8fa56ed97b5u},
    {"acosh float32", 0xcece664c8442fc65u},
    {"atanh float64", 0x7710a0dc143c6ee0u},
    {"atanh float32", 0x1aef53e769c58720u},
    {"erfc float64", 0x20af08c8765803b7u},
    {"erfc float32", 0xd1129b460b7215deu},
    {"power", 0xf86bb9fb4121b98eu},
    {"random uniform", 0xeea409917537c246u},
    {"random normal", 0xbf1e379c87dbc92cu},
};

std::uint64_t recorded_hash(const std::string& name) {
  for (const Recorded& entry : recorded)
    if (name == entry.name) return entry.hash;
  return 0;
}

}  // namespace

std::vector<SelfCheck> self_checks() {
  std::vector<SelfCheck> checks;
  auto add = [&](const std::string& name, std::function<std::uint64_t(InstructionSet)> computed) {
    checks.push_back({name, recorded_hash(name), std::move(computed)});
  };
  for (bool is_exact : {false, true})
    for (DType dtype : floating)
      add(fmt::format("{} product {}", is_exact ? "exact" : "canonical", to_string(dtype)),
          [=](InstructionSet set) { return products(is_exact, dtype, set); });
  for (DType dtype : {DType::int64, DType::int32, DType::uint8})
    add(fmt::format("product {}", to_string(dtype)),
        [=](InstructionSet set) { return products(false, dtype, set); });
  for (DType dtype : floating)
    add(fmt::format("carried product {}", to_string(dtype)),
        [=](InstructionSet set) { return carried(dtype, set); });
  for (bool is_exact : {false, true})
    for (DType dtype : floating)
      add(fmt::format("{} sum {}", is_exact ? "exact" : "canonical", to_string(dtype)),
          [=](InstructionSet set) { return sums(is_exact, dtype, set); });
  for (Function function : all_functions)
    for (DType dtype : {DType::float64, DType::float32})
      add(fmt::format("{} {}", to_string(function), to_string(dtype)),
          [=](InstructionSet set) { return function_bits(function, dtype, set); });
  add("power", [](InstructionSet) { return power_bits(); });
  add("random uniform", [](InstructionSet) { return random_bits(RandomKind::uniform); });
  add("random normal", [](InstructionSet) { return random_bits(RandomKind::normal); });
  return checks;
}

}  // namespace simmesh
