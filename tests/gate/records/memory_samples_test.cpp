#include "gate/records/memory_samples.h"

#include <gtest/gtest.h>
#include <numeric>

namespace simmesh {
namespace {

std::int64_t most_of(const PageCurve& curve, std::size_t category) {
  return *std::max_element(curve.bytes[category].begin(), curve.bytes[category].end());
}

// A peak between two samples is what a user looks for: it must survive any number of operations.
TEST(MemorySamples, KeepThePeakInABoundedNumberOfSamples) {
  for (std::int64_t operations : {1, 100, 128, 129, 1000, 5000}) {
    MemorySamples samples;
    for (std::int64_t i = 0; i < operations; ++i)
      samples.add({i == operations / 3 ? 1000 : 1, 0, 2, 0, 0, 0});
    PageCurve curve = samples.curve();
    EXPECT_LE(curve.at.size(), 129u) << operations;
    EXPECT_GE(curve.at.size(), std::size_t(std::min<std::int64_t>(operations, 60))) << operations;
    EXPECT_EQ(most_of(curve, 0), 1000) << operations;
    EXPECT_TRUE(std::is_sorted(curve.at.begin(), curve.at.end())) << operations;
    EXPECT_EQ(curve.at[std::size_t(std::max_element(curve.bytes[0].begin(), curve.bytes[0].end()) -
                                   curve.bytes[0].begin())],
              operations / 3);
  }
}

TEST(MemorySamples, EqualRanksAreOneCurveAndTheHighestComeFirst) {
  std::vector<MemorySamples> ranks(4);
  for (std::size_t rank : {0, 1, 3}) ranks[rank].add({0, 8, 0, 0, 0, 0});
  ranks[1].add({0, 16, 0, 0, 0, 0});
  JsonValue section = memory_section_of(ranks, 5);
  const auto& curves = *section.find("curves")->get<JsonValue::List>();
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_TRUE(curves[0].find("title")->is_text("rank 1"));
  EXPECT_TRUE(curves[1].find("title")->is_text("ranks 0, 3"));
  EXPECT_EQ(memory_section_of(ranks, 1).find("curves")->get<JsonValue::List>()->size(), 1u);
  EXPECT_TRUE(memory_section_of({MemorySamples()}, 5).is_null());
}

TEST(MemorySamples, ComeFromALedger) {
  boost::intrusive_ptr<Ledger> ledger(new Ledger(0, new PhysicalMemory({})));
  ledger->charge(24);
  EXPECT_EQ(bytes_now(*ledger)[std::size_t(MemoryCategory::other)], 24);
  ledger->release(24, MemoryCategory::other);
}

}  // namespace
}  // namespace simmesh
