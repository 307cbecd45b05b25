#include "core/arithmetic/self_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>

namespace simmesh {
namespace {

// The recorded table holds here, under each instruction set that this processor has.
TEST(SelfCheck, EveryHashHolds) {
  for (const SelfCheck& check : self_checks())
    for (InstructionSet set : available_instruction_sets())
      EXPECT_EQ(check.computed(set), check.expected) << check.name << " " << to_string(set);
}

// Data that never round would give every order and precision of a sum the same bits.
TEST(SelfCheck, CanonicalAndExactRowsDifferInEveryDtype) {
  std::map<std::string, std::uint64_t> hashes;
  for (const SelfCheck& check : self_checks()) hashes[check.name] = check.expected;
  for (const char* kind : {"product", "sum"})
    for (const char* dtype : {"float64", "float32", "bfloat16", "float16"})
      EXPECT_NE(hashes.at(fmt::format("canonical {} {}", kind, dtype)),
                hashes.at(fmt::format("exact {} {}", kind, dtype)))
          << kind << " " << dtype;
}

TEST(InstructionSet, PortableIsAvailableAndTheBestIsLast) {
  auto sets = available_instruction_sets();
  EXPECT_EQ(sets[0], InstructionSet::portable);
  EXPECT_EQ(best_instruction_set(), sets[sets.size() - 1]);
}

}  // namespace
}  // namespace simmesh
