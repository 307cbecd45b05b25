#pragma once

#include <cstddef>
#include <gsl/span>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

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
