#include <gmock/gmock.h>

#include "core/check/hash_text.h"
#include "gate/checked_run.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

TEST(HashCheck, FailsForAnotherHash) {
  std::uint64_t hash = testing::run_text(testing::replicated_mlp).data_hash;
  auto check = [](std::uint64_t expected) {
    return testing::check_of(testing::run_text(testing::replicated_mlp + "[expect]\nhash = \"" +
                                               hash_text(expected) + "\"\n"),
                             "hash");
  };
  EXPECT_TRUE(check(hash).passed);
  EXPECT_FALSE(check(hash + 1).passed);
  EXPECT_EQ(check(hash + 1).actual, hash_text(hash));
}

TEST(HashCheck, RefusesATextThatIsNoHash) {
  for (const char* text : {"12", "0123456789ABCDEF", "0123456789abcdef0"})
    EXPECT_THAT(testing::refusal_of(fmt::format("[expect]\nhash = \"{}\"\n", text)),
                HasSubstr("16 digits of 0-9a-f"));
}

}  // namespace
}  // namespace simmesh
