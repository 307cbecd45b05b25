#include "core/engine/spread/message_bytes.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A reader would get other values than the writer put.
TEST(MessageBytes, GivesBackWhatWasPut) {
  MessageWriter writer;
  writer.put(std::int32_t(-7));
  writer.put_text("two words");
  writer.put(2.5);
  ProcessBytes bytes = writer.take();
  MessageReader reader(bytes);
  EXPECT_EQ(reader.get<std::int32_t>(), -7);
  EXPECT_EQ(reader.get_text(), "two words");
  EXPECT_EQ(reader.rest().size(), sizeof(double));
  EXPECT_EQ(reader.get<double>(), 2.5);
  std::string text = message_text(bytes);
  EXPECT_EQ(message_bytes(text).size(), bytes.size());
}

// Elements would begin where an operator can't read them, or be read from another place.
TEST(MessageBytes, AlignsFromTheBeginOfTheMessage) {
  MessageWriter writer;
  writer.put(std::int8_t(3));
  writer.align();
  writer.put(2.5);
  ProcessBytes bytes = writer.take();
  EXPECT_EQ(bytes.size(), message_alignment + sizeof(double));
  MessageReader reader(bytes);
  reader.align();
  EXPECT_EQ(reader.position(), 0u) << "a begin is aligned";
  EXPECT_EQ(reader.get<std::int8_t>(), 3);
  reader.align();
  EXPECT_EQ(reader.position(), message_alignment);
  EXPECT_EQ(reader.get<double>(), 2.5);
  EXPECT_EQ(reader.buffer(), bytes.buffer());
}

// A message that ends early would be read beyond its end.
TEST(MessageBytes, ReaderStopsAtTheEnd) {
  ProcessBytes bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
  MessageReader reader(bytes);
  EXPECT_THROW(reader.get<std::int32_t>(), ContractViolation);
}

}  // namespace
}  // namespace simmesh
