#include "replay/read/trace_form.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(TraceForm, IsToldByTheKeys) {
  EXPECT_EQ(form_of(R"( {"schema": "1.1.1", "nodes": []})"), TraceForm::execution_trace);
  EXPECT_EQ(form_of(R"({"pid": 1, "nodes": []})"), TraceForm::execution_trace);
  EXPECT_EQ(form_of(R"({"schemaVersion": 1, "traceEvents": [{"args": {"schema": 1}}]})"),
            TraceForm::timeline);
  EXPECT_EQ(form_of(R"({"traceEvents": []})"), TraceForm::timeline);
  EXPECT_EQ(form_of(R"({"workload_graph": []})"), TraceForm::chakra_json);
  EXPECT_EQ(form_of(R"({"kind": "plan"})"), TraceForm::other_json);
  EXPECT_EQ(form_of(R"({"kind": "plan")"), TraceForm::unknown);
  EXPECT_EQ(form_of("[1]"), TraceForm::other_json);
  EXPECT_EQ(form_of("[{\"ph\": \"M\", \"name"), TraceForm::timeline);
  EXPECT_EQ(form_of("no JSON"), TraceForm::unknown);
  EXPECT_EQ(form_of(""), TraceForm::unknown);
}

// Would fail if metadata misled: keys of inner objects, keys that another form has, and more of
// them than the first bytes hold.
TEST(TraceForm, IsNotThatOfMetadata) {
  EXPECT_EQ(form_of(R"({"config": {"schema": "v2"}, "schemaVersion": 1, "traceEvents": []})"),
            TraceForm::timeline);
  EXPECT_EQ(form_of(R"({"schema": 3, "nodes": 2, "traceEvents": []})"), TraceForm::timeline);
  EXPECT_EQ(form_of(R"({"note": "\"traceEvents\": [", "nodes": [], "schema": "1.1.1"})"),
            TraceForm::execution_trace);
  std::string long_file = "{\"a\": \"" + std::string(100'000, 'x') + "\", \"traceEvents\": [";
  TextSource source("long", long_file);
  EXPECT_EQ(form_of(source), TraceForm::timeline);
  std::string again(long_file.size() + 1, ' ');
  std::size_t count = 0;
  while (std::size_t more = source.read(gsl::span<char>(again).subspan(count))) count += more;
  EXPECT_EQ(again.substr(0, count), long_file);
}

TEST(TraceForm, KnowsMessagesWithTheirLengths) {
  EXPECT_EQ(form_of(std::string_view("\x07\x0A\x05"
                                     "0.0.4",
                                     8)),
            TraceForm::chakra);
  EXPECT_EQ(form_of(std::string_view("\xFF\x01\x08\x01", 4)), TraceForm::chakra);
  EXPECT_EQ(form_of(std::string_view("\x00\x05\x08\x01", 4)), TraceForm::chakra);
  EXPECT_EQ(form_of(std::string_view("\x22\x12\x0F\x0A", 4)), TraceForm::chakra);
  EXPECT_EQ(form_of("\xFF\xFF"), TraceForm::unknown);
  // Lengths that are the bytes of brackets.
  EXPECT_EQ(form_of("{\x0A\x05"
                    "0.0.4"),
            TraceForm::chakra);
  EXPECT_EQ(form_of("[\x0A\x05"
                    "0.0.4"),
            TraceForm::chakra);
}

TEST(TraceForm, HasWordsForMessages) {
  EXPECT_EQ(to_string(TraceForm::execution_trace), "an execution trace");
  EXPECT_EQ(to_string(TraceForm::timeline), "a timeline");
  EXPECT_EQ(to_string(TraceForm::chakra_json), "a Chakra trace as JSON");
  EXPECT_EQ(to_string(TraceForm::chakra), "a Chakra trace");
  EXPECT_EQ(to_string(TraceForm::other_json), "JSON of another kind");
  EXPECT_EQ(to_string(TraceForm::unknown), "something else");
}

}  // namespace
}  // namespace simmesh::replay
