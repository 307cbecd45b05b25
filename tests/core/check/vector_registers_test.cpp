#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/arithmetic/compute.h"
#include "core/arithmetic/functions.h"
#include "core/arithmetic/philox.h"
#include "core/arithmetic/products/exact_product.h"
#include "core/arithmetic/products/product.h"
#include "core/arithmetic/reductions/combine.h"
#include "core/arithmetic/sums/exact_sums.h"
#include "core/arithmetic/sums/sums.h"
#include "core/check/bits_hash.h"
#include "core/check/vector_registers.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"
#include "core/tensor/stream_copy.h"
#include "core/tensor/strided_copy.h"

namespace simmesh {
namespace {

#if defined(__x86_64__)

// The upper halves of the first sixteen registers: bits 2 (of 256-bit ones) and 6 (of 512-bit
// ones). Code for SSE is slow while one of them is in use; registers 16 to 31, which it can't name,
// don't matter.
constexpr std::uint32_t upper_halves = 1u << 2 | 1u << 6;

// XGETBV of 1 reads which parts of the registers are in use, where CPUID says that it can.
bool can_be_asked() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  bool has_xgetbv = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
  return has_xgetbv && __get_cpuid_count(0xD, 1, &a, &b, &c, &d) && (a & 1u << 2) &&
         __builtin_cpu_supports("avx");
}

std::uint32_t upper_halves_in_use() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low & upper_halves;
}

void use_upper_halves() {
  asm volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n vinsertf128 $1, %%xmm0, %%ymm0, %%ymm0" ::
                   : "xmm0");
}

void expect_released(const std::string& name, const std::function<void()>& call) {
  asm volatile("vzeroupper");
  ASSERT_EQ(upper_halves_in_use(), 0u);
  call();
  EXPECT_EQ(upper_halves_in_use(), 0u) << name;
}

class VectorRegisters : public ::testing::Test {
 protected:
  void SetUp() override {
    // The registers are released by what compilers add in optimised builds: of the others nobody
    // expects speed.
#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN) || !defined(NDEBUG)
    GTEST_SKIP() << "this build isn't optimised";
#endif
    if (!can_be_asked()) GTEST_SKIP() << "this processor doesn't say which registers are in use";
  }
};

Tensor values(DimSpan shape, DType dtype, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::wide, .seed = seed, .dtype = dtype});
}

TEST_F(VectorRegisters, ReleaseEndsTheUse) {
  use_upper_halves();
  EXPECT_NE(upper_halves_in_use(), 0u);
  release_upper_halves();
  EXPECT_EQ(upper_halves_in_use(), 0u);
}

// If this fails, everything that follows a hash is slow.
TEST_F(VectorRegisters, HashesReleaseThem) {
  for (std::size_t count : {0u, 3u, 16u, 100u, 240u, 241u, 1024u, 5000u, 300000u}) {
    std::vector<std::byte> bytes(count, std::byte(7));
    std::string size = std::to_string(count) + " bytes";
    expect_released("bits_hash of " + size, [&] { bits_hash(bytes); });
    BitsHash hash;
    expect_released("update by " + size, [&] { hash.update(bytes); });
    expect_released("value after " + size, [&] { hash.value(); });
  }
}

TEST_F(VectorRegisters, ProductsAndSumsReleaseThem) {
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16})
    for (InstructionSet set : available_instruction_sets()) {
      std::string name = fmt::format(" {} {}", to_string(dtype), to_string(set));
      Tensor a = values(Dims{37, 53}, dtype, 1), b = values(Dims{53, 70}, dtype, 2);
      Tensor result = empty({37, 70}, dtype), totals = empty({53}, dtype);
      Product product{.rows = 37,
                      .columns = 70,
                      .depth = 53,
                      .a = {a.data(), dtype, 53, 1},
                      .b = {b.data(), dtype, 70, 1},
                      .result = result.mutable_data(),
                      .result_dtype = dtype,
                      .result_row_stride = 70};
      SumRequest sum{.data = a.data(),
                     .dtype = dtype,
                     .count = 37,
                     .inner = 53,
                     .result = totals.mutable_data(),
                     .result_dtype = dtype};
      expect_released("product" + name, [&] { canonical_product(product, set); });
      expect_released("exact product" + name, [&] { exact_product(product, set); });
      expect_released("sum" + name, [&] { canonical_sum(sum, set); });
      expect_released("exact sum" + name, [&] { exact_sum(sum, set); });
    }
}

TEST_F(VectorRegisters, FunctionsReleaseThem) {
  for (DType dtype : {DType::float64, DType::float32, DType::float16})
    for (InstructionSet set : available_instruction_sets())
      for (Function function : all_functions) {
        Tensor x = values(Dims{301}, dtype, 1), y = empty({301}, dtype);
        FunctionRequest request{function, dtype, x.data(), y.mutable_data(), 301};
        expect_released(fmt::format("{} {}", to_string(function), to_string(set)),
                        [&] { apply_function(request, set); });
      }
}

TEST_F(VectorRegisters, ReductionsReleaseThem) {
  for (const char* name : {"rank_order", "exact", "as_nccl_ring", "as_nccl_tree", "as_gloo_ring"}) {
    Arithmetic arithmetic = Arithmetic::parse(name);
    for (DType dtype : all_dtypes)
      for (ReduceOp op : all_reduce_ops) {
        bool is_bitwise = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
        bool is_average = op == ReduceOp::avg || op == ReduceOp::premul_sum;
        if (is_floating_point(dtype) ? is_bitwise : is_average) continue;
        Tensor x = zeros({1003}, dtype), y = zeros({1003}, dtype);
        std::vector<const std::byte*> operands(13, x.data());
        Reduction reduction{.op = op,
                            .dtype = dtype,
                            .factor = 0.5,
                            .operands = operands,
                            .count = 1003,
                            .result = y.mutable_data()};
        expect_released(fmt::format("{} {} {}", name, to_string(op), to_string(dtype)),
                        [&] { compute(arithmetic, reduction); });
      }
  }
}

TEST_F(VectorRegisters, ConversionsReleaseThem) {
  for (DType from : all_dtypes)
    for (DType to : all_dtypes) {
      Tensor x = zeros({1003}, from);
      expect_released(fmt::format("{} to {}", to_string(from), to_string(to)),
                      [&] { converted(x, to); });
    }
}

TEST_F(VectorRegisters, CopiesAndRandomNumbersReleaseThem) {
  std::vector<std::byte> from(1 << 16), to(1 << 16);
  for (std::int64_t block = 1; block <= 70; ++block)
    expect_released("strided copy", [&] {
      strided_copy({to.data(), Strides{block + 1, 1}}, {from.data(), Strides{block + 3, 1}},
                   Dims{50, block}, 1);
    });
  for (std::size_t bytes : {1u, 64u, 100u, 5000u, 65536u}) {
    expect_released("copy", [&] { std::memcpy(to.data(), from.data(), bytes); });
    expect_released("stream copy", [&] { stream_copy(to.data(), {from.data(), bytes}); });
  }
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16})
    for (RandomKind kind : {RandomKind::uniform, RandomKind::normal}) {
      Tensor tensor = empty({33, 7}, dtype);
      expect_released("random numbers", [&] { fill_random(tensor, {.seed = 4}, {.kind = kind}); });
    }
}

#else

TEST(VectorRegisters, ReleaseDoesNothingElsewhere) { release_upper_halves(); }

#endif

}  // namespace
}  // namespace simmesh
