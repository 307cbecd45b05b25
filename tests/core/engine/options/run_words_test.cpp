#include "core/engine/options/run_words.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A reproduce line without one of them runs something else than what failed.
TEST(RunWords, AreThoseThatDifferFromTheDefaults) {
  EXPECT_EQ(flags({}), "");
  EXPECT_EQ(flags({.seed = 7,
                   .schedule = "replay:my file",
                   .threads = 2,
                   .arithmetic = "exact",
                   .release = Release::v2_13,
                   .timeout_seconds = 0.5}),
            " --seed 7 --schedule 'replay:my file' --threads 2 --arithmetic exact --release 2.13 "
            "--timeout 0.5");
}

}  // namespace
}  // namespace simmesh
