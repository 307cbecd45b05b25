#include "core/engine/options/arithmetic.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

constexpr std::string_view names[] = {"canonical",    "rank_order",   "exact",
                                      "as_nccl_ring", "as_nccl_tree", "as_gloo_ring"};

// If this fails, a mode named on a command line is another one than it says.
TEST(Arithmetic, NamesAreReadBack) {
  for (std::string_view name : names) EXPECT_EQ(Arithmetic::parse(name).name(), name);
  for (std::string_view name : {"", "nccl", "Exact", "as_nccl_ring "}) {
    expect_error([&] { Arithmetic::parse(name); }, ErrorKind::value_error);
  }
}

// If this fails, options that make no sense are only found in the middle of a run, or never.
TEST(Arithmetic, OptionsBelowOneAreRefused) {
  EXPECT_THROW(Arithmetic::as_nccl_ring({.channels = 0}), Error);
  EXPECT_THROW(Arithmetic::as_nccl_ring({.chunk_bytes = 0}), Error);
  EXPECT_THROW(Arithmetic::as_nccl_tree({.ranks_per_host = 0}), Error);
  EXPECT_THROW(Arithmetic::as_nccl_tree({.channels = -1}), Error);
  EXPECT_EQ(Arithmetic::as_nccl_ring({.channels = 2}).nccl_ring().channels, 2);
  EXPECT_EQ(Arithmetic::as_nccl_tree({.ranks_per_host = 4}).nccl_tree().ranks_per_host, 4);
}

// If this fails, unfinished sums are kept unrounded where order still matters, or are not.
TEST(Arithmetic, OnlyExactIsExact) {
  for (std::string_view name : names)
    EXPECT_EQ(Arithmetic::parse(name).is_exact(), name == "exact") << name;
}

}  // namespace
}  // namespace simmesh
