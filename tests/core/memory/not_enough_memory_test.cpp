#include "core/memory/not_enough_memory.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <string>

#include "core/check/scarcity.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// If this fails, users aren't told what was asked for and how much there is.
TEST(NotEnoughMemory, SaysWhatWasAskedAndWhatThereIs) {
  Scarcity::clear();
  NotEnoughMemory error(4096);
  EXPECT_THAT(error.what(),
              StartsWith("not enough memory: expected 4096 bytes, but the process uses "));
  EXPECT_THAT(error.what(), HasSubstr(" MiB of address space"));
  EXPECT_EQ(Scarcity::reason(), error.what());
  Scarcity::clear();
  EXPECT_THAT(NotEnoughMemory(0).what(), StartsWith("not enough memory: the process uses "));
  Scarcity::clear();
}

int handler_calls = 0;

// If this fails, a program's handler can't free memory for a tensor.
TEST(NotEnoughMemory, AllocationsAskTheHandlerFirst) {
  auto fail = []() -> void* { return nullptr; };
  EXPECT_THROW(allocate_or_raise(8, fail), NotEnoughMemory);
  handler_calls = 0;
  std::new_handler before = std::set_new_handler([] {
    if (++handler_calls == 3) throw std::bad_alloc();
  });
  EXPECT_THROW(allocate_or_raise(8, fail), NotEnoughMemory);
  EXPECT_EQ(handler_calls, 3);
  int target = 0;

  std::set_new_handler(before);
  EXPECT_EQ(allocate_or_raise(8, [&]() -> void* { return &target; }), &target);
  Scarcity::clear();
}

}  // namespace
}  // namespace simmesh
