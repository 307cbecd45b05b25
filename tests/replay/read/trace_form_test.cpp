#include "replay/read/trace_form.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(TraceForm, IsToldByTheFirstKey) {
  EXPECT_EQ(form_of(R"( {"schema": "1.1.1", "nodes": []})"), TraceForm::execution_trace);
  EXPECT_EQ(form_of(R"({"pid": 1, "nodes": []})"), TraceForm::execution_trace);
  EXPECT_EQ(form_of(R"({"schemaVersion": 1, "traceEvents": [{"args": {"schema": 1}}]})"),
            TraceForm::timeline);
  EXPECT_EQ(form_of(R"({"traceEvents": []})"), TraceForm::timeline);
  EXPECT_EQ(form_of(R"({"workload_graph": []})"), TraceForm::chakra_json);
  EXPECT_EQ(form_of(R"({"kind": "plan"})"), TraceForm::unknown);
  EXPECT_EQ(form_of("[1]"), TraceForm::unknown);
  EXPECT_EQ(form_of(""), TraceForm::unknown);
}

TEST(TraceForm, KnowsMessagesWithTheirLengths) {
  EXPECT_EQ(form_of(std::string_view("\x07\x0A\x05"
                                     "0.0.4",
                                     8)),
            TraceForm::chakra);
  EXPECT_EQ(form_of(std::string_view("\xFF\x01\x08\x01", 4)), TraceForm::chakra);
  EXPECT_EQ(form_of(std::string_view("\x22\x12\x0F\x0A", 4)), TraceForm::chakra);
  EXPECT_EQ(form_of("\xFF\xFF"), TraceForm::unknown);
}

TEST(TraceForm, HasWordsForMessages) {
  EXPECT_EQ(to_string(TraceForm::execution_trace), "an execution trace");
  EXPECT_EQ(to_string(TraceForm::timeline), "a timeline");
  EXPECT_EQ(to_string(TraceForm::chakra_json), "a Chakra trace as JSON");
  EXPECT_EQ(to_string(TraceForm::chakra), "a Chakra trace");
  EXPECT_EQ(to_string(TraceForm::unknown), "something else");
}

}  // namespace
}  // namespace simmesh::replay
