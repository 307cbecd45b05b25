#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// SampleSizes gives each letter of a sample the size of the dims that carry it.
class SampleSizes {
 public:
  static constexpr std::size_t letter_count = 8;  // 'a' to 'h'

  SampleSizes() { sizes_.fill(4); }
  std::int64_t operator[](char letter) const { return sizes_[std::size_t(letter - 'a')]; }
  void set(char letter, std::int64_t size) { sizes_[std::size_t(letter - 'a')] = size; }

  bool operator==(const SampleSizes&) const = default;

 private:
  std::array<std::int64_t, letter_count> sizes_;
};

// OpSample is one call of an op whose sizes are left open: a word an input, and the op's other
// arguments. A word is the input's dims, one letter each; equal letters have equal sizes. A digit
// is a fixed size, letters in brackets are multiplied, "." is a tensor without dims and "-" an
// optional input that is absent. The word before a colon is the kind of elements:
//
//   f  numbers (float64); the default       n  integers           b  bools
//   m  numbers, of which some are NaN
//   p  positive numbers                     u  numbers within [-1, 1]
//   r  numbers within [0, 1]
//   q  powers of two and their negatives    s  ascending numbers
//   d, D  multiples of 2520, of its square: division by counts stays exact
//   y  symmetric positive definite matrices; t  triangular ones of -1, 0 and 1 whose inverses are
//      of integers
//   i<c  indices below the size of letter (or digit) c;  w<c  such indices, each once along dim 0
//
//   OpSample samples[] = {
//       {"mm", "ab bc"},
//       {"sum", "ab", {attribute::dims = Dims{1}, attribute::keepdim = true}},
//       {"_softmax", "ab", {attribute::dim = -1}},
//       {"view", "(ab)c", {}, [](const SampleSizes& s) -> Attributes {
//          return {attribute::size = Dims{s['a'], s['b'], s['c']}};
//        }}};
struct OpSample {
  using Sized = std::function<Attributes(const SampleSizes& sizes)>;

  std::string_view op;
  std::string_view inputs;
  Attributes attributes = {};
  Sized sized = {};  // instead of attributes, where they depend on sizes

  Attributes attributes_at(const SampleSizes& sizes) const {
    return sized ? sized(sizes) : attributes;
  }
};

// SampleData selects the numbers that fill a sample; all are dyadic and small, so that their sums
// and products are exact in float64. With `sparse` most numbers and integers are 0 and most bools
// are false; most bools are true if they are negated.
struct SampleData {
  enum class Flavor : std::uint8_t { small, fractions, wide, sparse };

  std::uint64_t seed = 0;
  Flavor flavor = Flavor::small;
  bool negated = false;
};

// sample_inputs returns the whole tensors of a sample; absent ones are undefined.
std::vector<Tensor> sample_inputs(const OpSample& sample, const SampleSizes& sizes,
                                  const SampleData& data);

// OpenDim is the name of a dim of an input: the letters that are multiplied, or none where its size
// is fixed.
struct OpenDim {
  std::string_view letters;
  std::int64_t fixed = 1;
};
// SampleInput is the meaning of one word of a sample.
struct SampleInput {
  bool is_absent = false;
  char elements = 'f';
  char below = '1';
  std::vector<OpenDim> dims;

  std::int64_t size(std::size_t dim, const SampleSizes& sizes) const;
};

// parse_sample_inputs reads the words of a sample. A malformed word breaks a contract.
std::vector<SampleInput> parse_sample_inputs(std::string_view words);

// letters_of returns the letters that a sample's inputs have, in ascending order, each once.
std::string letters_of(const OpSample& sample);

}  // namespace simmesh
