#include "replay/validate/check_resources.h"

#include <gtest/gtest.h>

#include "replay/job/trace_job.h"
#include "tests/replay/trace_text.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

// Returns the findings about a file beside the trace of a rank whose node 3 has an input of 3
// floats.
std::string found_about(const std::string& file, const std::string& bytes) {
  testing::TemporaryFolder folder;
  testing::NodeText node{.id = 3, .parent = 2, .inputs = testing::tensor_lists(5, 3)};
  folder.write("rank-0.json", testing::trace_text({node}));
  folder.write(file, bytes);
  std::vector<std::string> paths = {folder.path().string()};
  TraceJob job = read_job(paths);
  EXPECT_EQ(job.resources.size(), 1u);
  Findings findings;
  check_resources(job, findings);
  if (findings.empty()) return "ok";
  EXPECT_EQ(findings[0].rule, "resource");
  EXPECT_EQ(findings[0].severity, Severity::warning);
  std::string text = to_string(findings[0]);
  std::size_t place = text.find("expected");
  return place == text.npos ? text : text.substr(place);
}

TEST(CheckResources, ComparesTensorsWithTheirNodes) {
  EXPECT_EQ(found_about("rank-0_resources/nid_3_tid_0.dat", std::string(12, 'x')), "ok");
  EXPECT_EQ(found_about("rank-0_resources/kernel.py", "import triton"), "ok");
  EXPECT_EQ(found_about("rank-0_resources/nid_3_tid_0.dat", "x"), "expected 12 bytes, got 1");
  EXPECT_EQ(found_about("rank-0_resources/nid_3_tid_1.dat", "x"),
            "expected one of 1 tensors, got number 1");
  EXPECT_EQ(found_about("rank-0_resources/nid_7_tid_0.dat", "x"),
            "expected a node of the trace, which doesn't have it");
  EXPECT_EQ(found_about("rank-1_resources/kernel.py", "x"),
            "expected a trace 'rank-1.json' beside its folder");
}

}  // namespace
}  // namespace simmesh::replay
