#include "replay/timeline/kineto_event.h"

#include <gtest/gtest.h>

#include "tests/replay/timeline/kineto_text.h"

namespace simmesh::replay {

namespace {

using testing::event_json;
using testing::EventText;

// ReadEvent keeps the text of an event as the reader of a file would, with padding after it.
class ReadEvent {
 public:
  explicit ReadEvent(std::string text) : text_(std::move(text)), size_(text_.size()) {
    text_.resize(size_ + JsonPiece::padding);
    is_read_ = reader_.read({std::string_view(text_).substr(0, size_)}, event_);
  }

  const KinetoEvent* operator->() const { return &event_; }
  bool is_read() const { return is_read_; }

 private:
  std::string text_;
  std::size_t size_;
  KinetoEventReader reader_;
  KinetoEvent event_;
  bool is_read_ = false;
};

ReadEvent kineto_event_of(const EventText& text) { return ReadEvent(event_json(text)); }

// Would fail if a moment lost a nanosecond, as it would in a double: 53 bits end at 2^53.
TEST(ReplayKinetoEvent, ReadsMomentsExactly) {
  EXPECT_EQ(nanoseconds_of("1694128201426602"), 1694128201426602000);
  EXPECT_EQ(nanoseconds_of("1694128201426602.123"), 1694128201426602123);
  EXPECT_EQ(nanoseconds_of("12.5"), 12500);
  EXPECT_EQ(nanoseconds_of("12.3456"), 12346);
  EXPECT_EQ(nanoseconds_of("12.3454999"), 12345);
  EXPECT_EQ(nanoseconds_of("0.9999"), 1000);
  EXPECT_EQ(nanoseconds_of("-0.25"), -250);
  EXPECT_EQ(nanoseconds_of("-3"), -3000);
  EXPECT_EQ(nanoseconds_of("1.5e3"), 1500000);
  EXPECT_EQ(nanoseconds_of("2E-1"), 200);
  EXPECT_EQ(nanoseconds_of("4000000000000000"), 4000000000000000000);
}

// Would fail if a number inside the arguments, or a text, were read as that of the event.
TEST(ReplayKinetoEvent, FindsHowANumberIsWritten) {
  EXPECT_EQ(number_text(R"({"a": {"ts": 1, "b": ["ts", 2]}, "ts" : 3.250})", "ts"), "3.250");
  EXPECT_EQ(number_text(R"({"name": "ts", "x": "\\\"ts\": 4", "ts":5e3 , "dur": 6})", "ts"), "5e3");
  EXPECT_EQ(number_text(R"({"ts": 1})", "dur"), "");
  EXPECT_EQ(number_text("{}", "ts"), "");
  ReadEvent event(R"({"ph": "X", "cat": "kernel", "name": "a", "args": {"ts": 1, "dur": 2}, )"
                  R"("ts": 1694128201426602.123, "dur": 0.5})");
  EXPECT_EQ(event->begin_ns, 1694128201426602123);
  EXPECT_EQ(event->length_ns, 500);
}

TEST(ReplayKinetoEvent, RefusesWhatIsNoMoment) {
  for (const char* text :
       {"", "-", "a", "1a", "1.", "1.2b", "1 2", "\"12\"", "{", "null", "4000000000000001",
        "-9223372036854775808", "99999999999999999999", "1e300", "1e999", "1.5x3"})
    EXPECT_EQ(nanoseconds_of(text), std::nullopt) << text;
}

// Would fail if a field went astray.
TEST(ReplayKinetoEvent, ReadsAKernel) {
  ReadEvent event =
      kineto_event_of({.begin = "12.5",
                       .length = "3",
                       .arguments = R"("stream": 9, "correlation": 77, "External id": 5)"});
  ASSERT_TRUE(event.is_read());
  EXPECT_EQ(event->category, KinetoCategory::kernel);
  EXPECT_EQ(event->name, "gemm");
  EXPECT_EQ(event->process, "0");
  EXPECT_EQ(event->thread, "7");
  EXPECT_EQ(event->begin_ns, 12500);
  EXPECT_EQ(event->length_ns, 3000);
  EXPECT_EQ(event->stream, 9);
  EXPECT_EQ(event->correlation, 77);
  EXPECT_EQ(event->external_id, 5);
  EXPECT_FALSE(event->comm.is_known());
}

TEST(ReplayKinetoEvent, ReadsWhatJoinsItWithAnExecutionTrace) {
  ReadEvent event = kineto_event_of(
      {.category = "cpu_op", .arguments = R"("Record function id": 3, "Ev Idx": "4")"});
  EXPECT_EQ(event->category, KinetoCategory::operation);
  EXPECT_EQ(event->record_function, 3);
  EXPECT_EQ(event->event_index, 4);
}

// Would fail if what PyTorch says about a collective were lost: sizes, splits, members.
TEST(ReplayKinetoEvent, ReadsACommunication) {
  ReadEvent event = kineto_event_of(
      {.name = "record_param_comms",
       .arguments = testing::comm_arguments("all_to_allv", "2", "[4, 6]", 2) +
                    R"(, "In split size": "[3, 4]", "Out split size": [5, 6], "Comms Id": 99)"});
  const KinetoComm& comm = event->comm;
  EXPECT_EQ(comm.name, "all_to_allv");
  EXPECT_EQ(comm.dtype, "BFloat16");
  EXPECT_EQ(comm.in_elements, 100);
  EXPECT_EQ(comm.out_elements, 200);
  EXPECT_EQ(comm.group_size, 2);
  EXPECT_EQ(comm.group, "2");
  EXPECT_EQ(comm.rank, 1);
  EXPECT_EQ(comm.members, (std::vector<std::int64_t>{4, 6}));
  EXPECT_EQ(comm.in_split, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(comm.out_split, (std::vector<std::int64_t>{5, 6}));
  EXPECT_EQ(comm.comms_id, "99");
}

// Would fail if the labels of older releases told nothing.
TEST(ReplayKinetoEvent, ReadsALabel) {
  ReadEvent event = kineto_event_of(
      {.category = "user_annotation",
       .name = "nccl:all_reduce",
       .arguments = R"("Input Dims": [[2, 3], [7]], "Input type": ["long int", "float"])"});
  EXPECT_EQ(event->comm.name, "all_reduce");
  EXPECT_EQ(event->comm.in_elements, 6);
  EXPECT_EQ(event->comm.dtype, "Long");
  for (const char* dims : {"[]", "[7]", "7", "[[2.5]]", "[[-1]]", "[[\"a\"]]",
                           "[[4611686018427387904, 4611686018427387904]]"})
    EXPECT_EQ(kineto_event_of({.category = "user_annotation",
                               .name = "nccl:all_reduce",
                               .arguments = fmt::format(R"("Input Dims": {})", dims)})
                  ->comm.in_elements,
              0)
        << dims;
}

// Would fail if arrows, names of threads or what else a file has became spans.
TEST(ReplayKinetoEvent, LeavesOutWhatTakesNoTime) {
  for (const char* text : {R"({"ph": "f", "cat": "ac2g", "ts": 1})", R"({"ph": "M"})", "{}",
                           R"({"ph": 3, "cat": "kernel"})", R"({"cat": "kernel", "name": "a"})",
                           R"({"ph": "X", "cat": "Trace", "ts": 1, "dur": 2, "name": "a"})"})
    EXPECT_FALSE(ReadEvent(text).is_read()) << text;
}

std::string event_fault(const std::string& text) {
  try {
    ReadEvent event(text);
  } catch (const BadEvent& bad) {
    return bad.message;
  }
  return "";
}

TEST(ReplayKinetoEvent, SaysWhatIsWrong) {
  EXPECT_EQ(event_fault("[1]"), "expected an object, got something else");
  EXPECT_EQ(event_fault(event_json({.begin = "\"a\""})),
            "expected a time 'ts' in microseconds, got none");
  EXPECT_EQ(event_fault(event_json({.name = ""})), "expected a name, got none");
  EXPECT_EQ(event_fault(R"({"ph": "X", "cat": "kernel", "name": "a", "ts": 1})"),
            "expected a length 'dur' in microseconds, got none");
}

// Would fail if a job on gloo had no communications, or NCCL's labels were ones beside its kernels.
TEST(ReplayKinetoEvent, KnowsCommunicationsOfTheHost) {
  for (const char* name : {"gloo:all_reduce", "mpi:broadcast", "ucc:barrier"})
    EXPECT_TRUE(is_host_communication(name)) << name;
  for (const char* name :
       {"nccl:all_reduce", "gloo:wait", "gloo:", "my step: barrier", "all_reduce"})
    EXPECT_FALSE(is_host_communication(name)) << name;
  ReadEvent event =
      kineto_event_of({.category = "user_annotation",
                       .name = "gloo:all_reduce",
                       .arguments = R"("Input Dims": [[3, 2]], "Input type": ["float"])"});
  EXPECT_EQ(event->comm.name, "all_reduce");
  EXPECT_EQ(event->comm.in_elements, 6);
}

// Would fail if an event that never ended were refused, or had a length that nobody knows.
TEST(ReplayKinetoEvent, CountsWhatNeverEnded) {
  KinetoEventReader reader;
  KinetoEvent event;
  std::string text = event_json({.length = "-1"});
  std::size_t size = text.size();
  text.resize(size + JsonPiece::padding);
  EXPECT_FALSE(reader.read({std::string_view(text).substr(0, size)}, event));
  EXPECT_EQ(reader.unfinished(), 1);
}

// Would fail if a time in quotes weren't the time that it spells.
TEST(ReplayKinetoEvent, ReadsTimesInQuotes) {
  ReadEvent event(event_json({.begin = "\"1694128201426602.123\"", .length = "\"2.5\""}));
  EXPECT_EQ(event->begin_ns, 1694128201426602123);
  EXPECT_EQ(event->length_ns, 2500);
}

// Would fail if an event that isn't quite JSON were refused, or its times read from elsewhere.
TEST(ReplayKinetoEvent, ReadsWhatIsNotQuiteJson) {
  ReadEvent event(R"({"ph": "X", "cat": "kernel", "name": "C:\Users\x", "args": {"bw": inf}, )"
                  R"("ts": 20.5, "dur": 1.25})");
  EXPECT_EQ(event->name, R"(C:\Users\x)");
  EXPECT_EQ(event->begin_ns, 20500);
  EXPECT_EQ(event->length_ns, 1250);
}

}  // namespace

}  // namespace simmesh::replay
