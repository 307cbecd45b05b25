#include "replay/chakra/read_chakra.h"

#include <gtest/gtest.h>

#include "replay/chakra/write_chakra.h"
#include "replay/read/bad_trace.h"
#include "tests/replay/chakra/chakra_samples.h"

namespace simmesh::replay {
namespace {

ChakraTrace read_bytes(std::string_view bytes) {
  TextSource source("rank-0.et", bytes);
  return read_chakra(source);
}

std::string rule_of_bytes(std::string_view bytes) {
  try {
    read_bytes(bytes);
  } catch (const BadTrace& bad) {
    return bad.rule();
  }
  return "";
}

// Bytes put together by hand from the numbers of the schema, so that reader and writer can't be
// wrong together.
TEST(ReadChakra, KnowsTheFieldsByTheirNumbers) {
  std::string bytes =
      "\x0e\x0a\x03"
      "0.1";  // the length, and the version
  bytes +=
      "\x12\x07\x0a\x03"
      "pid"
      "\x68\x2a";  // an attribute: uint64_val = 42
  std::string node = "\x08\x05\x12\x02mm\x18\x04\x22\x01\x03\x2a\x02\x01\x02\x30\x09\x38\x0a";
  node += "\x42\x03\x0a\x01v\x4a\x03\x1a\x01t";
  node +=
      "\x52\x06\x0a\x01"
      "b"
      "\xd8\x01\x01";                         // bool_val
  node += "\x52\x08\x0a\x01s\xea\x01\x02xy";  // string_val
  node += "\x52\x06\x0a\x01n\xb8\x01\x01";    // sfixed32_val as a varint, which it is not
  bytes += char(node.size());
  bytes += node;
  ChakraTrace trace = read_bytes(bytes);
  EXPECT_EQ(trace.version, "0.1");
  ASSERT_EQ(trace.metadata.size(), 1);
  EXPECT_EQ(trace.metadata[0], (ChakraAttribute{"pid", std::uint64_t(42)}));
  ASSERT_EQ(trace.nodes.size(), 1);
  const ChakraNode& read = trace.nodes[0];
  EXPECT_EQ(read.id, 5);
  EXPECT_EQ(read.name, "mm");
  EXPECT_EQ(read.type, ChakraNodeType::comp);
  EXPECT_EQ(read.ctrl_deps, std::vector<std::uint64_t>{3});
  EXPECT_EQ(read.data_deps, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(read.start_us, 9);
  EXPECT_EQ(read.duration_us, 10);
  EXPECT_EQ(read.inputs.values, "v");
  EXPECT_EQ(read.outputs.types, "t");
  ASSERT_EQ(read.attributes.size(), 3);
  EXPECT_EQ(read.attributes[0], (ChakraAttribute{"b", true}));
  EXPECT_EQ(read.attributes[1], (ChakraAttribute{"s", std::string("xy")}));
  EXPECT_EQ(read.attributes[2], (ChakraAttribute{"n", std::monostate()}));
  EXPECT_EQ(trace.messages, 2);
}

TEST(ReadChakra, ReadsWhatIsWritten) {
  ChakraTrace trace = chakra_sample();
  EXPECT_EQ(read_bytes(to_protobuf(trace)), trace);
  EXPECT_EQ(read_bytes(""), ChakraTrace());
}

// The metadata may be missing.
TEST(ReadChakra, TakesAFirstMessageWithAnIdForANode) {
  ChakraTrace trace = read_bytes(std::string_view("\x02\x08\x05", 3));
  ASSERT_EQ(trace.nodes.size(), 1);
  EXPECT_EQ(trace.nodes[0].id, 5);
  EXPECT_EQ(trace.messages, 1);
}

TEST(ReadChakra, SaysWhatIsWrongWithBytes) {
  EXPECT_EQ(rule_of_bytes("\x05\x0a"), "chakra_cut");
  EXPECT_EQ(rule_of_bytes("\x85"), "chakra_cut");
  EXPECT_EQ(rule_of_bytes("\xff\xff\xff\xff\x7f"), "chakra_length");
  EXPECT_EQ(rule_of_bytes("\xff\xff\xff\xff\xff\x01"), "chakra_length");
  EXPECT_EQ(rule_of_bytes(std::string_view("\x00\x03\x08\x05\x0f", 5)), "chakra_message");
}

// Cut anywhere and with any byte changed, a file is read or refused, and nothing else.
TEST(ReadChakra, TakesHostileBytes) {
  std::string bytes = to_protobuf(chakra_sample());
  int refused = 0;
  for (std::size_t end = 0; end < bytes.size(); ++end)
    refused += !rule_of_bytes(std::string_view(bytes).substr(0, end)).empty();
  EXPECT_GT(refused, 0);
  for (std::size_t place = 0; place < bytes.size(); ++place)
    for (int change : {1, 8, 128, 255}) {
      std::string changed = bytes;
      changed[place] = char(changed[place] ^ change);
      rule_of_bytes(changed);
    }
}

}  // namespace
}  // namespace simmesh::replay
