#include "core/check/repro.h"

#include <gtest/gtest.h>
#include <string>

namespace simmesh {
namespace {

// If this fails, the printed line can't be pasted into a shell to see a failure again.
TEST(Repro, IsOneCommandLine) {
  std::string text = to_string(Repro{"train --ranks 4", 7, "pct:3"});
  EXPECT_EQ(text, "reproduce: train --ranks 4 --seed 7 --schedule pct:3   # revision " +
                      std::string(revision()));
}

// If this fails, seeds above 2^63 print as negative numbers.
TEST(Repro, SeedIsUnsigned) {
  std::string text = to_string(Repro{"x", ~std::uint64_t(0), "fifo"});
  EXPECT_NE(text.find("--seed 18446744073709551615 "), text.npos) << text;
}

// If this fails, a report doesn't name the source revision.
TEST(Repro, RevisionIsNeverEmpty) { EXPECT_FALSE(revision().empty()); }

}  // namespace
}  // namespace simmesh
