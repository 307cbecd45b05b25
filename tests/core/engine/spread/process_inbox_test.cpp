#include "core/engine/spread/process_inbox.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A note would be taken for a message, or its length for another.
TEST(ParcelHead, TellsTheLengthAndANote) {
  for (bool is_note : {false, true}) {
    ParcelHead head(Parcel{1, ProcessBytes::uninitialised(5), is_note});
    ParcelHead came(head.number());
    EXPECT_EQ(came.bytes(), 5u);
    EXPECT_EQ(came.is_note(), is_note);
  }
}

// Parts of a message would overwrite one another, or a part would be taken for the whole.
TEST(ComingParcel, IsWholeOnceAllItsPartsHaveCome) {
  ProcessBytes bytes = {std::byte{4}, std::byte{5}, std::byte{6}};
  std::optional<ComingParcel> coming(ParcelHead(Parcel{0, bytes}));
  ProcessInbox inbox;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    inbox.keep_if_whole(coming);
    ASSERT_TRUE(coming && inbox.is_empty());
    ASSERT_EQ(coming->missing().size(), bytes.size() - i);
    coming->missing()[0] = bytes.data()[i];
    coming->add(1);
  }
  EXPECT_THROW(coming->add(1), ContractViolation);
  inbox.keep_if_whole(coming);
  EXPECT_FALSE(coming);
  EXPECT_EQ(inbox.take(), bytes);
  coming.emplace(ParcelHead(Parcel{0, {}}));
  inbox.keep_if_whole(coming);
  EXPECT_EQ(inbox.take(), ProcessBytes());
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
