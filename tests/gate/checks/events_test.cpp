#include <gmock/gmock.h>

#include "gate/explain.h"
#include "tests/gate/gate_texts.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

GateFile with_events(const std::string& keys) {
  return gate_from_text(testing::sharded_layer + "[expect]\n" + keys, "g.toml");
}

// The events of a step of a model whose root is its only group, after the first step.
const std::vector<std::string> second_step = {"(forward_root, )",
                                              "(unshard, , forward, sync)",
                                              "(all_gather, , 10, 20, 2, float32)",
                                              "(wait, , forward)",
                                              "(record_post_forward, , 0)",
                                              "(pre_backward, )",
                                              "(root_callback, )",
                                              "(post_backward, )",
                                              "(reshard, , post_backward, sharded)",
                                              "(reduce_scatter, , 20, 10, 2, float32, avg)",
                                              "(finalize, , clean)"};

std::string as_list(const std::vector<std::string>& events) {
  std::string text;
  for (const std::string& event : events) text += "\"" + event + "\", ";
  return "[" + text + "]";
}

TEST(EventsCheck, ReadsEachForm) {
  EXPECT_THAT(with_events("events = [\"a, , 1\", \"(b)\", [\"c\", \"\", 2]]\n").expect.events.list,
              ElementsAre("(a, , 1)", "(b)", "(c, , 2)"));
  GateEvents events =
      with_events("events = { rank = 1, step = 1, list = [\"a\"] }\n").expect.events;
  EXPECT_EQ(events.rank, 1);
  EXPECT_EQ(events.step, 1);
  testing::TemporaryFolder folder;
  folder.write("list.txt", "# the first step\n(a, )\n\nb, 2\n");
  std::string gate = folder.write(
      "g.toml", testing::sharded_layer + "[expect]\nevents = { file = \"list.txt\" }\n");
  EXPECT_THAT(read_gate(gate).expect.events.list, ElementsAre("(a, )", "(b, 2)"));
  // The explained gate has the list itself, so it needs no file.
  std::string explained = explain(read_gate(gate));
  EXPECT_EQ(explain(gate_from_text(explained, "g.toml")), explained);
}

TEST(EventsCheck, RefusesEventsThatCanNotBe) {
  auto refusal = [](const std::string& events) {
    return testing::refusal_of(testing::sharded_layer + "[expect]\nevents = " + events + "\n");
  };
  EXPECT_THAT(refusal("3"), HasSubstr("a table"));
  EXPECT_THAT(refusal("[3]"), HasSubstr("a list of strings, or of lists of strings and integers"));
  EXPECT_THAT(refusal("{ rank = 2 }"), HasSubstr("from 0 to 1, got 2"));
  EXPECT_THAT(refusal("{ step = 2 }"), HasSubstr("from 0 to 1, got 2"));
  for (const char* file : {"no/such/file", "/dev/zero"})
    EXPECT_THAT(refusal(fmt::format("{{ file = \"{}\" }}", file)),
                HasSubstr("a readable file of at most 1 MiB in the folder of the gate"));
  EXPECT_THAT(refusal("{ file = \"a\", list = [] }"), HasSubstr("a file or a list"));
  EXPECT_THAT(refusal("{ lists = [] }"),
              HasSubstr("the nearest known key is 'expect.events.list'"));
  EXPECT_THAT(testing::refusal_of("[expect]\nevents = [\"a\"]\n"),
              HasSubstr("no such key in a gate without parallel.fsdp"));
}

TEST(EventsCheck, LooksAtTheRankAndStepThatAreNamed) {
  for (int rank : {0, 1}) {
    std::string place = fmt::format("events = {{ rank = {}, step = 1, list = ", rank);
    GateResult result = run_gate(with_events(place + as_list(second_step) + " }\n"));
    EXPECT_TRUE(testing::check_of(result, fmt::format("events of rank {} in step 1", rank)).passed);
  }
}

// A mismatch names the first event that differs and prints the whole list, ready to be copied.
TEST(EventsCheck, NamesTheFirstEventThatDiffers) {
  std::vector<std::string> wrong = second_step;
  wrong[3] = "(wait, , backward)";
  GateResult result =
      run_gate(with_events("events = { step = 1, list = " + as_list(wrong) + " }\n"));
  const GateCheck& check = testing::check_of(result, "events of rank 0 in step 1");
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.expected, "(wait, , backward) as event 3");
  EXPECT_EQ(check.actual, "(wait, , forward)");
  EXPECT_THAT(result.failure, HasSubstr("\n  (finalize, , clean)"));
  wrong = second_step;
  wrong.emplace_back("(more)");
  result = run_gate(with_events("events = { step = 1, list = " + as_list(wrong) + " }\n"));
  EXPECT_EQ(testing::check_of(result, "events of rank 0 in step 1").actual, "no further event");
}

}  // namespace
}  // namespace simmesh
