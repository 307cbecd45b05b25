#include "core/engine/reports/activity.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// Words is an operation that is described by given words.
struct Words final : Waitable {
  std::string group_words, operand_words, peer_words;

  std::string group() const override { return group_words; }
  std::string operand(RankId rank) const override {
    return operand_words.empty() ? "" : operand_words + std::to_string(rank);
  }
  std::string peer() const override { return peer_words; }
  std::vector<RankId> missing_ranks() const override { return {}; }
};

std::string text_of(const char* operation, const Waitable* waits_for) {
  return describe({.operation = operation,
                   .waits_for = waits_for,
                   .sequence = 4,
                   .site = {"src/train.cpp", 42}},
                  3);
}

// If this fails, a report of a deadlock leaves out what a person needs to find the call.
TEST(Activity, IsDescribedByAllThatIsKnown) {
  Words collective, message, bare;
  collective.group_words = "dp [0, 4]";
  collective.operand_words = "float32 of rank ";
  message.group_words = "dp [0, 4]";
  message.peer_words = "to rank 3, tag 7";
  EXPECT_EQ(text_of("all_reduce", &collective),
            "all_reduce #4 of dp [0, 4], float32 of rank 3, train.cpp:42");
  EXPECT_EQ(text_of("send", &message), "send to rank 3, tag 7 of dp [0, 4], train.cpp:42");
  EXPECT_EQ(text_of("wait", &bare), "wait #4, train.cpp:42");
  EXPECT_EQ(text_of("sleep", nullptr), "sleep #4, train.cpp:42");
}

}  // namespace
}  // namespace simmesh
