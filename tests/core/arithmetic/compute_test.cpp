#include "core/arithmetic/compute.h"

#include <gtest/gtest.h>
#include <vector>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/tensor/formula.h"
#include "tests/core/arithmetic/reduced.h"

namespace simmesh {
namespace {

constexpr std::string_view names[] = {"canonical",    "rank_order",   "exact",
                                      "as_nccl_ring", "as_nccl_tree", "as_gloo_ring"};

// If this fails, the modes disagree where no operation rounds, so one of them adds wrongly.
TEST(Compute, ModesAgreeWhereNothingRounds) {
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16, DType::int64,
                      DType::int32})
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max})
      for (std::size_t members = 1; members <= 9; ++members) {
        std::vector<Tensor> operands;
        for (std::uint64_t r = 0; r < members; ++r)
          operands.push_back(formula({37}, {.rule = Rule::small, .seed = r, .dtype = dtype}));
        Tensor expected = reduced(Arithmetic::canonical(), operands, {.op = op});
        for (std::string_view name : names)
          // No sum of these is -0, and min and max of equal numbers have equal bits.
          EXPECT_TRUE(same_bits(reduced(Arithmetic::parse(name), operands, {.op = op}), expected))
              << name << " " << to_string(op) << " " << to_string(dtype) << " x " << members;
      }
}

// If this fails, the modes are all the same one.
TEST(Compute, ModesDifferWhereSumsRound) {
  std::vector<Tensor> operands;
  for (std::uint64_t r = 0; r < 5; ++r)
    operands.push_back(formula({500}, {.rule = Rule::wide, .seed = r}));
  for (std::string_view name : {"exact", "as_nccl_ring", "as_nccl_tree", "as_gloo_ring"})
    EXPECT_FALSE(same_bits(reduced(Arithmetic::parse(name), operands),
                           reduced(Arithmetic::rank_order(), operands)))
        << name;
  EXPECT_TRUE(same_bits(reduced(Arithmetic::canonical(), operands),
                        reduced(Arithmetic::rank_order(), operands)));
}

// If this fails, a mode forgets to hash what it wrote, or a mode accepts what has no meaning.
TEST(Compute, EveryModeHashesAndRefuses) {
  std::vector<Tensor> operands, whole;
  for (std::uint64_t r = 0; r < 3; ++r) {
    operands.push_back(formula({9000}, {.rule = Rule::wide, .seed = r}));
    whole.push_back(formula({4}, {.rule = Rule::small, .seed = r, .dtype = DType::int32}));
  }
  for (std::string_view name : names) {
    Arithmetic mode = Arithmetic::parse(name);
    ElementsHash hash(DType::float32);
    Tensor result = reduced(mode, operands, {.hash = &hash});
    EXPECT_EQ(hash.value(), bits_hash({result.data(), result.bytes()})) << name;
    EXPECT_THROW(reduced(mode, operands, {.op = ReduceOp::band}), Error);
    EXPECT_THROW(reduced(mode, whole, {.op = ReduceOp::avg}), Error);
    EXPECT_THROW(compute(mode, Reduction()), ContractViolation);
    EXPECT_EQ(reduced(mode, {zeros({0}, DType::float32)}).numel(), 0);
    EXPECT_EQ(adds_by_owner(mode), name == "as_nccl_ring") << name;
  }
}

}  // namespace
}  // namespace simmesh
