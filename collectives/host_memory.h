#pragma once

#include <gsl/span>
#include <string>
#include <vector>

#include "collectives/results/result_part.h"

namespace simmesh {

class ExactRecord;

// HostArray is an array in memory of the program around a World, such as a tensor of PyTorch.
struct HostArray {
  std::byte* data = nullptr;
  DType dtype = DType::float32;
  Shape shape;
  Strides strides;  // in elements
  // The bits of each byte that are inverted on the way in and out: the highest one gives uint8 the
  // order of int8.
  std::byte inverted_bits{0};
  // The dtype in the host's words, where simmesh has none of that name: "int8". It outlives the
  // array.
  const char* host_dtype = nullptr;
  // Where given, the record of the array's storage: operands take along what stands behind their
  // elements, as unrounded sums, and results keep what comes with theirs. It outlives the array,
  // whose first element is at byte record_offset of the storage.
  ExactRecord* record = nullptr;
  std::int64_t record_offset = 0;
  // Multiplies the exact values of a floating operand; 1.0 / N is the rational.
  double factor = 1.0;
};

// to_string returns the type of an array: "float32[4, 2]", "int8[3]".
std::string to_string(const HostArray& array);

// HostMemory is the memory that an operation reads and writes in place of tensors. Operands are
// read when the operation completes, because the last member has arrived or a message has met its
// receive, and results are written at that moment. Reads and writes of ranks between start and wait
// are a race, and show as one. The memory must stay until then.
class HostMemory {
 public:
  HostMemory(std::vector<HostArray> operands, std::vector<HostArray> results)
      : operands_(std::move(operands)), results_(std::move(results)) {}

  // placeholders returns tensors of the operands' shapes and dtypes, without elements.
  std::vector<Tensor> placeholders() const;

  // load puts copies of the operands into as many tensors, with what stands behind their elements
  // (see
  // core/arithmetic/companions/carried_values.h).
  void load(gsl::span<Tensor> tensors) const;
  // store copies parts of a result, all or the first few, into the results in their order, and puts
  // what comes with them behind the elements. Raises a
  // RuntimeError for a part of another dtype or number of elements.
  void store(gsl::span<const ResultPart> parts) const;

  const std::vector<HostArray>& operands() const { return operands_; }
  const std::vector<HostArray>& results() const { return results_; }

 private:
  std::vector<HostArray> operands_;
  std::vector<HostArray> results_;
};

}  // namespace simmesh
