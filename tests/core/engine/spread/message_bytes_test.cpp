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

// A message that ends early would be read beyond its end.
TEST(MessageBytes, ReaderStopsAtTheEnd) {
  ProcessBytes bytes(3);
  MessageReader reader(bytes);
  EXPECT_THROW(reader.get<std::int32_t>(), ContractViolation);
}

}  // namespace
}  // namespace simmesh
