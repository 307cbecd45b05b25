#include "core/engine/spread/process_frame.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A message of another place of the program would be taken for that of this one.
TEST(ProcessFrame, KeepsItsPlace) {
  ProcessFrame here{.kind = ProcessFrame::Kind::failure, .run = 3, .number = 7, .name = "a word"};
  ProcessBytes payload = {std::byte{4}, std::byte{5}};
  ProcessFrame came = frame_from(frame_bytes(here, payload));
  EXPECT_EQ(came.payload, payload);
  EXPECT_TRUE(came.is_at(here));
  for (const ProcessFrame& other : {ProcessFrame{ProcessFrame::Kind::end, 3, 7, "a word"},
                                    {here.kind, 4, 7, "a word"},
                                    {here.kind, 3, 8, "a word"},
                                    {here.kind, 3, 7, "another word"}})
    EXPECT_FALSE(came.is_at(other));
}

}  // namespace
}  // namespace simmesh
