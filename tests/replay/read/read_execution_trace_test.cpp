#include "replay/read/read_execution_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/read/bad_trace.h"
#include "tests/replay/packed.h"
#include "tests/replay/trace_text.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

std::string rule_of(std::string_view text) {
  try {
    testing::trace_from(text);
  } catch (const BadTrace& bad) {
    EXPECT_THAT(bad.what(), HasSubstr("rank-0.json"));
    return bad.rule();
  }
  return "read";
}

TEST(ReadExecutionTrace, SortsNodesAndKeepsWhatStandsAround) {
  ExecutionTrace trace = testing::trace_from(testing::trace_text({{.id = 9}, {.id = 4}}));
  std::vector<std::int64_t> ids;
  for (const TraceNode& node : trace.nodes) ids.push_back(node.id);
  EXPECT_EQ(ids, (std::vector<std::int64_t>{1, 2, 4, 9}));
  EXPECT_EQ(trace.schema.text, "1.1.1-chakra.0.0.4");
  EXPECT_TRUE(trace.schema.is_at_least(1, 1, 1));
  EXPECT_FALSE(trace.schema.is_at_least(1, 2, 0));
  EXPECT_EQ(trace.finish_ms, 12);
}

TEST(ReadExecutionTrace, RefusesWhatIsNoTrace) {
  EXPECT_EQ(rule_of("{\"schema\": \"1.1.1\", \"nodes\": [{]}"), "json");
  EXPECT_EQ(rule_of("{\"schema\": \"1.1.1\", \"nodes\": [{\"id\": tru}]}"), "json");
  EXPECT_EQ(rule_of("[]"), "top_level");
  EXPECT_EQ(rule_of("{\"nodes\": []}"), "top_level");
  EXPECT_EQ(rule_of("{\"schema\": \"1.1.1\"}"), "top_level");
  EXPECT_EQ(rule_of("{\"schema\": \"1.1.1\", \"nodes\": 3}"), "top_level");
  EXPECT_EQ(rule_of("{\"schema\": 1.1, \"nodes\": []}"), "top_level");
  EXPECT_EQ(rule_of("{\"schema\": \"new\", \"nodes\": []}"), "schema");
  EXPECT_EQ(rule_of("{\"schema\": \"2.0.0\", \"nodes\": []}"), "schema");
  EXPECT_EQ(rule_of("{\"schema\": \"1.9.9\", \"nodes\": []}"), "read");
}

TEST(ReadExecutionTrace, RefusesATraceThatIsCutAnywhere) {
  std::string text = testing::trace_text({{.id = 3}});
  for (std::size_t count = 0; count < text.size(); ++count)
    EXPECT_EQ(rule_of(text.substr(0, count)), "json") << count;
}

TEST(ReadExecutionTrace, ReadsFilesHoweverTheyArePacked) {
  testing::TemporaryFolder folder;
  std::string text = testing::trace_text({{.id = 3}});
  for (const std::string& path :
       {folder.write("a.json", text), folder.write("a.json.gz", testing::gzip(text)),
        folder.write("a.tar.gz", testing::tar({{.name = "a.json", .bytes = text}}))})
    EXPECT_EQ(read_execution_trace(path).nodes.size(), 3u) << path;
  std::string two = folder.write("two.tar", testing::tar({{.name = "a.json", .bytes = text},
                                                          {.name = "b.json", .bytes = text}}));
  EXPECT_THROW(read_execution_trace(two), Error);
  EXPECT_THROW(read_execution_trace(folder.path().string() + "/nowhere.json"), Error);
}

}  // namespace
}  // namespace simmesh::replay
