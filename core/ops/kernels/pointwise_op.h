#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// The arguments that an elementwise op of a tensor and a number has.
namespace attribute {
inline constexpr Attribute<Number> self{"self"};
inline constexpr Attribute<Number> other{"other"};
inline constexpr Attribute<Number> tensor{"tensor"};  // for an operand that is no number
}  // namespace attribute

// Elementwise ops are computed chunk by chunk in one of three types. Operands of all dtypes and
// strides are converted to it first, so an op needs three loops, not one for each dtype.
enum class ComputeType : std::uint8_t { float32, float64, int64 };

// compute_type_of returns float64 for float64, float32 for other floating dtypes, else int64.
ComputeType compute_type_of(DType dtype);

// PointwiseChunk is a run of elements of each operand and of the result, all in the compute type.
struct PointwiseChunk {
  std::array<const std::byte*, 5> operands = {};
  std::byte* result = nullptr;
  std::size_t count = 0;

  template <class C>
  const C* operand(std::size_t index) const {
    return reinterpret_cast<const C*>(operands[index]);
  }
  template <class C>
  C* results() const {
    return reinterpret_cast<C*>(result);
  }
};
using ChunkLoop = std::function<void(const PointwiseChunk& chunk)>;
// ChunkLoops makes the loop of an op for a compute type.
using ChunkLoops = std::function<ChunkLoop(ComputeType type, const Attributes& attributes)>;

// PointwiseOperand is a tensor that broadcasts to the result, or a number where it is undefined.
struct PointwiseOperand {
  Tensor tensor = {};
  Number number = 0;
};

// PointwiseRequest computes one elementwise result: operands are converted to the compute type, the
// loop runs, and its results are rounded once to the dtype of out, a contiguous tensor.
struct PointwiseRequest {
  gsl::span<const PointwiseOperand> operands;
  ComputeType type = ComputeType::float32;
  const ChunkLoop& loop;
};
void compute_pointwise(const PointwiseRequest& request, Tensor& out);

// PointwiseSlot is one operand of an elementwise op: the input at that position, else the number of
// that name among the arguments, else a default. Unless promotes is set, it takes no part in the
// common dtype.
struct PointwiseSlot {
  Attribute<Number> number = attribute::self;
  bool promotes = true;
  std::optional<Number> otherwise = {};
};

// PointwiseResult selects the dtype of the result: the operands' common dtype; the same, but
// float32 for integers; or bool.
enum class PointwiseResult : std::uint8_t { common, floating, boolean };

// PointwiseCheck raises for operands that an op doesn't accept; common is their common dtype.
using PointwiseCheck = std::function<void(DType common, const Attributes& attributes)>;

// PointwiseOp is the definition of an elementwise op; in_double computes floating operands in
// double whatever their dtype.
//
//   const Op add_op = pointwise_op({.name = "add",
//                                   .slots = {{attribute::self},
//                                             {attribute::other},
//                                             {attribute::alpha, false, 1}},
//                                   .loops = loops<3>([](auto a, auto b, auto alpha) {
//                                     return a + alpha * b;
//                                   })});
struct PointwiseOp {
  std::string name;
  std::vector<PointwiseSlot> slots = {{}};
  PointwiseResult result = PointwiseResult::common;
  bool in_double = false;
  ChunkLoops loops = {};
  PointwiseCheck check = {};
};
Op pointwise_op(PointwiseOp definition);

// loop_of returns the loop that calls f with N elements of type C.
template <std::size_t N, class C, class F>
ChunkLoop loop_of(F f) {
  return [f](const PointwiseChunk& chunk) {
    std::size_t count = chunk.count;
    C* out = chunk.results<C>();
    const C* a = chunk.operand<C>(0);
    const C* b = chunk.operand<C>(1);
    const C* c = chunk.operand<C>(2);
    const C* d = chunk.operand<C>(3);
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (N == 1) out[i] = static_cast<C>(f(a[i]));
      if constexpr (N == 2) out[i] = static_cast<C>(f(a[i], b[i]));
      if constexpr (N == 3) out[i] = static_cast<C>(f(a[i], b[i], c[i]));
      if constexpr (N == 4) out[i] = static_cast<C>(f(a[i], b[i], c[i], d[i]));
    }
  };
}

// loops_for returns the loop of f for a compute type; floating_loops that of an op that is never
// computed in integers, double_loops of one that is always computed in double.
template <std::size_t N, class F>
ChunkLoop loops_for(ComputeType type, F f) {
  if (type == ComputeType::float32) return loop_of<N, float>(f);
  if (type == ComputeType::float64) return loop_of<N, double>(f);
  return loop_of<N, std::int64_t>(f);
}
template <std::size_t N, class F>
ChunkLoops loops(F f) {
  return [f](ComputeType type, const Attributes&) { return loops_for<N>(type, f); };
}
template <std::size_t N, class F>
ChunkLoops floating_loops(F f) {
  return [f](ComputeType type, const Attributes&) {
    SIMMESH_CHECK(type != ComputeType::int64, "a floating op on integers");
    return type == ComputeType::float32 ? loop_of<N, float>(f) : loop_of<N, double>(f);
  };
}
template <std::size_t N, class F>
ChunkLoops double_loops(F f) {
  return [f](ComputeType type, const Attributes&) {
    SIMMESH_CHECK(type == ComputeType::float64, "an op in double on another type");
    return loop_of<N, double>(f);
  };
}

// Sums, differences and products that wrap for integers.
template <class C>
C plus(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return C(std::uint64_t(a) + std::uint64_t(b));
  else
    return a + b;
}
template <class C>
C minus(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return C(std::uint64_t(a) - std::uint64_t(b));
  else
    return a - b;
}
template <class C>
C times(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return C(std::uint64_t(a) * std::uint64_t(b));
  else
    return a * b;
}

// with_other returns the arguments of an op of a tensor and a number.
inline Attributes with_other(Number other) { return {attribute::other = other}; }

// refuse_floating_point returns the check of an op of integers and bools: a NotImplementedError in
// PyTorch's words.
PointwiseCheck refuse_floating_point(std::string name);

// integer_op returns an op of two operands without fractions, which are computed as int64.
template <class F>
Op integer_op(const std::string& name, F f) {
  return pointwise_op(
      {.name = name,
       .slots = {{attribute::self}, {attribute::other}},
       .loops = [f](ComputeType, const Attributes&) { return loop_of<2, std::int64_t>(f); },
       .check = refuse_floating_point(name)});
}

}  // namespace simmesh
