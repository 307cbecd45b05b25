#include "core/samples/samples_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ops/call.h"
#include "core/ops/registry/registry.h"

namespace simmesh {
namespace {

// If an op had no sample, nobody would judge its sharding rules.
TEST(SamplesOf, EveryOpHasOne) {
  std::vector<std::string> without;
  for (const Op* op : all_ops())
    if (samples_of(*op).empty()) without.push_back(op->name);
  EXPECT_THAT(without, ::testing::IsEmpty());
}

// If a sample named arguments that the op doesn't take, all its trials would be refused.
TEST(SamplesOf, EachRunsOnSeveralSizes) {
  SampleSizes larger;
  larger.set('a', 3);
  larger.set('b', 5);
  larger.set('c', 2);
  for (const Op* op : all_ops())
    for (const OpSample* sample : samples_of(*op))
      for (const SampleSizes& sizes : {SampleSizes(), larger}) {
        SCOPED_TRACE(op->name + " " + std::string(sample->inputs));
        EXPECT_NO_THROW(call(*op, sample_inputs(*sample, sizes, {}), sample->attributes_at(sizes)));
      }
}

TEST(SamplesOf, AnOpOfOnesOwnHasNone) { EXPECT_TRUE(samples_of(Op{.name = "mine"}).empty()); }

// If a call stood in the tables twice, its rules would be counted twice.
TEST(SamplesOf, NoCallComesTwice) {
  for (const Op* op : all_ops()) {
    const auto& samples = samples_of(*op);
    for (std::size_t i = 0; i < samples.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        auto left = samples[i]->attributes_at({}), right = samples[j]->attributes_at({});
        bool same = samples[i]->inputs == samples[j]->inputs &&
                    std::equal(left.begin(), left.end(), right.begin(), right.end());
        EXPECT_FALSE(same) << op->name << " " << samples[i]->inputs;
      }
  }
}

}  // namespace
}  // namespace simmesh
