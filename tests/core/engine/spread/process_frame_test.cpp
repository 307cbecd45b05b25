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

// Each exchange of a large tensor would copy it twice more.
TEST(ProcessFrame, LeavesAPayloadWhereItIs) {
  ProcessBytes payload = {std::byte{4}, std::byte{5}};
  payload.reserve(payload.size() + place_bytes_max);
  const std::byte* begin = payload.data();
  ProcessBytes framed = frame_bytes({.name = "a word"}, std::move(payload));
  EXPECT_EQ(framed.data(), begin);
  EXPECT_EQ(frame_from(std::move(framed)).payload.data(), begin);
}

// Bytes that are no frame would be read beyond their end.
TEST(ProcessFrame, RefusesBytesThatAreNone) {
  ProcessBytes framed = frame_bytes({.name = "a word"}, {});
  for (std::size_t count = 0; count < framed.size(); ++count)
    EXPECT_THROW(frame_from(ProcessBytes(gsl::span(framed).last(count))), ContractViolation);
}

// An error of processes that have gone apart would not say where they are.
TEST(ProcessFrame, SaysWhereItIs) {
  ProcessFrame frame{.run = 3, .number = 7, .name = "the loss"};
  EXPECT_EQ(frame.text(), "the loss (exchange 7 of run 3)");
  frame.kind = ProcessFrame::Kind::question;
  frame.run = 0;
  EXPECT_EQ(frame.text(), "the loss (question 7 outside any run)");
}

}  // namespace
}  // namespace simmesh
