#include "core/engine/spread/process_inbox.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A note would be taken for a message, or its length for another.
TEST(ParcelHead, TellsTheLengthAndANote) {
  for (bool is_note : {false, true}) {
    ParcelHead head(Parcel{1, ProcessBytes(5), is_note});
    ParcelHead came(head.number());
    EXPECT_EQ(came.bytes(), 5u);
    EXPECT_EQ(came.is_note(), is_note);
  }
}

// Messages would come in another order, or a note in their line.
TEST(ProcessInbox, KeepsMessagesInOrderAndTheLastNote) {
  ProcessInbox inbox;
  EXPECT_TRUE(inbox.is_empty());
  for (int i = 1; i <= 4; ++i) {
    Parcel parcel{0, {std::byte(i)}, i % 2 == 0};
    inbox.keep(ParcelHead(parcel), parcel.bytes);
  }
  EXPECT_EQ(inbox.note(), ProcessBytes{std::byte{4}});
  EXPECT_EQ(inbox.take(), ProcessBytes{std::byte{1}});
  EXPECT_EQ(inbox.take(), ProcessBytes{std::byte{3}});
  EXPECT_TRUE(inbox.is_empty());
}

}  // namespace
}  // namespace simmesh
