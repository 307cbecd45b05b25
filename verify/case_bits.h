#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

inline constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325;
inline constexpr std::uint64_t fnv_prime = 0x100000001b3;

// fnv1a goes on with an FNV-1a hash over more bytes.
inline std::uint64_t fnv1a(std::uint64_t hash, gsl::span<const std::byte> bytes) {
  for (std::byte byte : bytes) hash = (hash ^ std::uint64_t(byte)) * fnv_prime;
  return hash;
}

// known_rows returns the elements of a tensor that a rank has left, contiguous, as all processes
// know them over which ranks are spread; known_doubles returns them as doubles.
Tensor known_rows(const Tensor& tensor);
std::vector<double> known_doubles(const Tensor& tensor);

// bits_text returns the hash that recorded cases hold: FNV-1a over the bytes of the contiguous
// tensor, 16 hex digits.
std::string bits_text(const Tensor& tensor);
// bits_text for bytes that are no tensor's.
std::string bits_text(gsl::span<const std::byte> bytes);

// CaseBits is the record of one rank's tensor in a case: {"shape","hash"}, with "dtype" where that
// isn't the tensor's.
struct CaseBits {
  Shape shape;
  DType dtype = DType::float32;
  std::string hash;
};

// bits_schema is a list with one entry per rank of the world.
Schema bits_schema();

// read_bits reads a list with one entry per rank of the world; null for ranks that take no part.
std::vector<std::optional<CaseBits>> read_bits(const CaseField& field, std::int64_t world,
                                               DType dtype);

// expect_bits compares one rank's tensor with its entry.
void expect_bits(CaseReport& report, const std::string& who, const CaseBits& expected,
                 const Tensor& actual);

}  // namespace simmesh
