#include "replay/chakra/write_chakra.h"

#include <gtest/gtest.h>

#include "replay/chakra/read_chakra.h"
#include "replay/chakra/to_chakra.h"
#include "replay/read/unpack.h"
#include "tests/expect_error.h"
#include "tests/replay/chakra/chakra_samples.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

TEST(WriteChakra, BeginsWithTheMetadata) {
  std::string bytes = to_protobuf({.version = "0.0.4"});
  EXPECT_EQ(bytes, std::string("\x07\x0a\x05"
                               "0.0.4"));
}

// A length takes as many bytes as it needs.
TEST(WriteChakra, WritesLongMessages) {
  ChakraTrace trace;
  for (std::size_t length : {0, 100, 127, 128, 20'000, 3'000'000})
    trace.nodes.push_back({.id = length + 1, .name = std::string(length, 'a')});
  std::string bytes = to_protobuf(trace);
  TextSource source("long.et", bytes);
  EXPECT_EQ(read_chakra(source).nodes, trace.nodes);
}

TEST(WriteChakra, WritesAFileARank) {
  simmesh::testing::TemporaryFolder folder;
  TraceJob job;
  job.ranks.emplace_back();
  job.ranks[0].rank = 3;
  job.ranks[0].trace.nodes.resize(1);
  job.ranks[0].trace.nodes[0].id = 1;
  write_chakra_job(job, folder.path().string() + "/deep/down");
  std::vector<std::string> files;
  for_each_file(folder.path().string(), [&](ByteSource& source) {
    files.push_back(source.name());
    EXPECT_EQ(read_chakra(source), to_chakra(job.ranks[0]));
  });
  EXPECT_EQ(files, std::vector<std::string>{folder.path().string() + "/deep/down/rank-3.et"});
  simmesh::testing::expect_error([&] { write_chakra_job(job, "/dev/null/x"); },
                                 ErrorKind::value_error, "expected a folder for the Chakra traces");
}

}  // namespace
}  // namespace simmesh::replay
