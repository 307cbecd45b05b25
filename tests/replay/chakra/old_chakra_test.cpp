#include "replay/chakra/old_chakra.h"

#include <gtest/gtest.h>

#include "replay/chakra/read_chakra.h"

namespace simmesh::replay {
namespace {

std::string with_length(const std::string& message) { return char(message.size()) + message; }

// attribute_bytes returns an attribute of a name, a type and the bytes of its value.
std::string attribute_bytes(const std::string& name, char type, const std::string& value) {
  std::string bytes = "\x0a" + with_length(name) + "\x10" + type + value;
  return "\x5a" + with_length(bytes);
}

std::string node_bytes(char id, char type, const std::string& rest) {
  return std::string("\x08") + id + "\x12\x01n\x18" + type + rest;
}

ChakraTrace read_messages(const std::vector<std::string>& messages) {
  std::string bytes;
  for (const std::string& message : messages) bytes += with_length(message);
  TextSource source("old.et", bytes);
  return read_chakra(source);
}

// Would fail if nodes of July 2023 lost their dependencies, or the first one were metadata.
TEST(OldChakra, ReadsTheLayoutOfJuly2023) {
  std::string values = attribute_bytes("comm_type", 2, std::string("\x30\x01", 2)) +
                       attribute_bytes("flag", 0, "\x20\x01") +
                       attribute_bytes("half", 1, std::string("\x2d\x00\x00\x00\x3f", 5)) +
                       attribute_bytes("word", 3, "\x3a\x02hi") +
                       attribute_bytes("list", 6, "\x50\x05\x50\x07");
  ChakraTrace trace = read_messages(
      {node_bytes(1, 4, "\x2a\x04[[1]\x32\x02[]"), node_bytes(2, 7, "\x20\x01" + values)});
  ASSERT_EQ(trace.nodes.size(), 2u);
  EXPECT_EQ(trace.nodes[0].inputs.values, "[[1]");
  EXPECT_EQ(trace.nodes[0].inputs.shapes, "[]");
  const ChakraNode& node = trace.nodes[1];
  EXPECT_EQ(node.type, ChakraNodeType::comm_coll);
  EXPECT_EQ(node.data_deps, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(*node.find("comm_type"), ChakraValue(std::int64_t(6)));  // all-to-all
  EXPECT_EQ(*node.find("flag"), ChakraValue(true));
  EXPECT_EQ(*node.find("half"), ChakraValue(0.5));
  EXPECT_EQ(*node.find("word"), ChakraValue(std::string("hi")));
  EXPECT_EQ(*node.find("list"), ChakraValue(std::vector<std::int64_t>{5, 7}));
}

// Would fail if the types of June 2023, which began without one for metadata, were read as today's.
TEST(OldChakra, ReadsTheLayoutOfJune2023) {
  ChakraTrace trace = read_messages(
      {node_bytes(1, 6, attribute_bytes("comm_size", 1, std::string("\x28\x08", 2)))});
  ASSERT_EQ(trace.nodes.size(), 1u);
  EXPECT_EQ(trace.nodes[0].type, ChakraNodeType::comm_coll);
  EXPECT_EQ(*trace.nodes[0].find("comm_size"), ChakraValue(std::int64_t(8)));
}

// Would fail if numbers without signs, which August 2023 added, moved the fields after them.
TEST(OldChakra, ReadsTheLayoutOfAugust2023) {
  std::string metadata = "\x0a" + with_length(attribute_bytes("who", 4, "\x42\x02me").substr(2));
  ChakraTrace trace = read_messages(
      {metadata, node_bytes(3, 7, attribute_bytes("comm_type", 3, std::string("\x38\x04", 2)))});
  ASSERT_EQ(trace.nodes.size(), 1u);
  EXPECT_EQ(*trace.nodes[0].find("comm_type"), ChakraValue(std::int64_t(5)));  // broadcast
  ASSERT_EQ(trace.metadata.size(), 1u);
  EXPECT_EQ(trace.metadata[0], (ChakraAttribute{"who", std::string("me")}));
}

// Would fail if the first layout, which had a field for each property, were read as another.
TEST(OldChakra, ReadsTheLayoutOfMay2023) {
  ChakraTrace trace = read_messages(
      {node_bytes(1, 3, "\x38\x09"),
       node_bytes(2, 6, std::string("\x20\x01\x68\x01\x70\x01\x70\x00\x90\x01\x40", 11))});
  ASSERT_EQ(trace.nodes.size(), 2u);
  EXPECT_EQ(trace.nodes[0].type, ChakraNodeType::comp);
  EXPECT_EQ(trace.nodes[0].duration_us, 9u);
  const ChakraNode& node = trace.nodes[1];
  EXPECT_EQ(node.type, ChakraNodeType::comm_coll);
  EXPECT_EQ(node.data_deps, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(*node.find("comm_type"), ChakraValue(std::int64_t(0)));
  EXPECT_EQ(*node.find("comm_size"), ChakraValue(std::int64_t(64)));
  EXPECT_EQ(*node.find("involved_dim"), ChakraValue(std::vector<bool>{true, false}));
}

// Would fail if a node of today whose id is 0, which isn't written, were metadata.
TEST(OldChakra, TellsNodesFromMetadata) {
  EXPECT_FALSE(is_chakra_metadata("\x12\x01n\x18\x04"));
  EXPECT_TRUE(
      is_chakra_metadata("\x0a\x05"
                         "0.0.4"));
  EXPECT_TRUE(is_chakra_metadata(""));
  std::vector<std::string> messages = {"\x12\x01n\x18\x04\x22\x01\x07"};
  EXPECT_EQ(chakra_layout(messages), ChakraLayout::current);
  EXPECT_EQ(read_old_chakra_node("\x08", ChakraLayout::july_2023), std::nullopt);
}

}  // namespace
}  // namespace simmesh::replay
