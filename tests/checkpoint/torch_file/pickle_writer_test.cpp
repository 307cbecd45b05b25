#include "checkpoint/torch_file/pickle_writer.h"

#include <gtest/gtest.h>
#include <limits>

#include "checkpoint/torch_file/pickle.h"
#include "checkpoint/torch_file/pickle_json.h"
#include "tests/checkpoint/file_bytes.h"

namespace simmesh::checkpoint {
namespace {

using namespace std::string_literals;

// The reader gets back every written value.
TEST(PickleWriter, WritesWhatIsRead) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31,
                              -(std::int64_t{1} << 31) - 1, least, -(least + 1)}) {
    PickleWriter out(PickleWriter::Protocol::two);
    out.integer(number);
    EXPECT_EQ(as_integer(Pickle(out.finish()).root(), "it"), number);
  }
  std::string text = R"({"a":[1,-2.5,null,true,false,"x"],"b":{},"c":[]})";
  PickleWriter out(PickleWriter::Protocol::two);
  out.json(JsonValue::parse(text));
  EXPECT_EQ(json_of(Pickle(out.finish()).root()).text(), text);
}

// Values that JSON doesn't have come back as what they were.
TEST(PickleWriter, WritesTaggedValues) {
  for (const char* text :
       {R"({"$bytes":"00ff61"})", R"({"$integer":"-36893488147419103232"})",
        R"({"$complex":[1.0,-2.5]})", R"({"$range":[0,9,2]})", R"({"$slice":[null,3,null]})",
        R"({"$timedelta":[-1,2,3]})", R"({"$$bytes":1})", R"({"$dict":"no list"})"}) {
    PickleWriter out(PickleWriter::Protocol::two);
    out.json(JsonValue::parse(text));
    JsonValue read = json_of(Pickle(out.finish()).root());
    bool is_dict = std::string_view(text).find("no list") != std::string_view::npos;
    EXPECT_EQ(read.text(), is_dict ? R"({"$$dict":"no list"})" : text);
  }
  PickleWriter out(PickleWriter::Protocol::two);
  out.json(JsonValue::parse(R"({"$dict":[[1,"a"],[null,[2]]]})"));
  EXPECT_EQ(json_of(Pickle(out.finish()).root()).text(), R"({"$dict":[[1,"a"],[null,[2]]]})");
}

TEST(PickleWriter, WritesTheBytesOfProtocolTwo) {
  PickleWriter out(PickleWriter::Protocol::two);
  out.global("m", "C");
  out.new_object();
  out.begin_dict();
  out.text("k");
  out.integers(Dims{7});
  out.end_dict();
  out.build();
  EXPECT_EQ(testing::text_of(out.finish()), "\x80\2cm\nC\n)\x81}(X\1\0\0\0k(J\7\0\0\0tub."s);
}

}  // namespace
}  // namespace simmesh::checkpoint
