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
// optional input that is absent. What stands before a colon says what the elements are:
//
//   f  numbers (float64); the default       n  integers           b  bools
//   m  numbers, of which some are NaN
//   p  positive numbers                     u  numbers within [-1, 1]
//   r  numbers within [0, 1]
//   q  powers of two and their negatives    s  ascending numbers
//   d, D  multiples of 2520, of its square: what is divided by counts stays exact
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

// SampleData says which numbers fill a sample; all are dyadic and small, so that sums and products
// of them are exact in float64. Of sparse ones, numbers and integers, most are 0, and most bools
// are false; most are true if they are negated.
struct SampleData {
  enum class Flavor : std::uint8_t { small, fractions, wide, sparse };

  std::uint64_t seed = 0;
  Flavor flavor = Flavor::small;
  bool negated = false;
};

// sample_inputs returns the whole tensors of a sample; absent ones are undefined.
std::vector<Tensor> sample_inputs(const OpSample& sample, const SampleSizes& sizes,
                                  const SampleData& data);

// OpenDim says what a dim of an input is called: by letters that are multiplied, or by none where
// its size is fixed.
struct OpenDim {
  std::string_view letters;
  std::int64_t fixed = 1;
};
// SampleInput is what a word of a sample says.
struct SampleInput {
  bool is_absent = false;
  char elements = 'f';
  char below = '1';
  std::vector<OpenDim> dims;

  std::int64_t size(std::size_t dim, const SampleSizes& sizes) const;
};

// parse_sample_inputs reads the words of a sample. A word that isn't one breaks a contract.
std::vector<SampleInput> parse_sample_inputs(std::string_view words);

// letters_of returns the letters that a sample's inputs have, in ascending order, each once.
std::string letters_of(const OpSample& sample);

}  // namespace simmesh
