#include "core/autograd/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

// A node that notes when it is released and when it ends.
class NotingNode final : public Node {
 public:
  NotingNode(std::vector<std::string>& notes, std::string name)
      : Node(next_sequence()), notes_(notes), name_(std::move(name)) {}
  ~NotingNode() override { notes_.push_back("end " + name_); }

  std::string name() const override { return name_; }
  Gradients apply(Gradients gradients) override { return gradients; }
  void release() override { notes_.push_back("release " + name_); }

 private:
  std::vector<std::string>& notes_;
  std::string name_;
};

// If this fails, dropping the result of a long training step overflows the small stack of a rank.
TEST(Node, ALongChainEndsWithoutRecursion) {
  World({.ranks = 1})
      .run([](Rank&) {
        std::vector<std::string> notes;
        NodePtr last;
        for (int i = 0; i < 100'000; ++i) {
          NodePtr next(new NotingNode(notes, "node"));
          if (last) next->add_edge({last, 0});
          last = next;
        }
        last.reset();
        EXPECT_EQ(notes.size(), 2u * 100'000 - 1);
      })
      .rethrow();
}

// If this fails, a node that somebody else still holds loses what it saved.
TEST(Node, OnlyNodesThatNobodyHoldsAreReleased) {
  std::vector<std::string> notes;
  NodePtr kept(new NotingNode(notes, "kept"));
  {
    NodePtr middle(new NotingNode(notes, "middle"));
    middle->add_edge({kept, 0});
    NodePtr top(new NotingNode(notes, "top"));
    top->add_edge({middle, 1});
    middle.reset();
  }
  EXPECT_THAT(notes, ElementsAre("end top", "release middle", "end middle"));
  EXPECT_EQ(kept->use_count(), 1u);
}

// If this fails, nodes that were made later don't run first in a backward pass.
TEST(Node, SequencesAscendOnEachRankByItself) {
  std::vector<std::uint64_t> of_rank(2);
  World({.ranks = 2})
      .run([&](Rank& rank) {
        std::uint64_t first = next_sequence();
        EXPECT_EQ(next_sequence(), first + 1);
        of_rank[rank.id()] = first;
      })
      .rethrow();
  EXPECT_EQ(of_rank[0], of_rank[1]);
}

TEST(Node, GradientsHaveTheDtypeOfTheOutputTheyReach) {
  std::vector<std::string> notes;
  NotingNode node(notes, "node");
  node.add_output({{2}, DType::float32});
  node.add_output({{3}, DType::bfloat16});
  EXPECT_EQ(node.gradient_dtype(1), DType::bfloat16);
  EXPECT_FALSE(node.takes_unrounded());
  EXPECT_FALSE(node.passes_on());
}

}  // namespace
}  // namespace simmesh
