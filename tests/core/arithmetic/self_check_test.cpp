#include "core/arithmetic/self_check.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// The recorded table holds here, under each instruction set that this processor has.
TEST(SelfCheck, EveryHashHolds) {
  for (const SelfCheck& check : self_checks())
    for (InstructionSet set : available_instruction_sets())
      EXPECT_EQ(check.computed(set), check.expected) << check.name << " " << to_string(set);
}

TEST(InstructionSet, PortableIsAvailableAndTheBestIsLast) {
  auto sets = available_instruction_sets();
  EXPECT_EQ(sets[0], InstructionSet::portable);
  EXPECT_EQ(best_instruction_set(), sets[sets.size() - 1]);
}

}  // namespace
}  // namespace simmesh
