#include "core/memory/ledger.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

#include "core/check/check.h"
#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

using Category = MemoryCategory;

boost::intrusive_ptr<Ledger> ledger_of(std::uint32_t owner) {
  return new Ledger(owner, new PhysicalMemory({}));
}

// If this fails, the reported peak of a rank is not the most it ever held.
TEST(Ledger, PeakIsTheLargestSum) {
  auto ledger = ledger_of(0);
  ledger->charge(100);
  ledger->charge(50);
  ledger->release(100, Category::other);
  ledger->charge(20);
  EXPECT_EQ(ledger->total().current, 70);
  EXPECT_EQ(ledger->total().peak, 150);
  EXPECT_EQ(ledger->live_storages(), 2);
  EXPECT_EQ(ledger->allocations(), 3u);
}

// If this fails, bytes are charged under the wrong category, or a category keeps another's peak.
TEST(Ledger, CategoriesNestAndEndWithTheirScope) {
  auto ledger = ledger_of(0);
  Ledger::set_active(ledger.get());
  {
    Ledger::Category outer(Category::parameter);
    ledger->charge(1);
    {
      Ledger::Category inner(Category::gradient);
      ledger->charge(10);
      EXPECT_EQ(ledger->category(), Category::gradient);
    }
    ledger->charge(100);
  }
  Ledger::set_active(nullptr);
  EXPECT_EQ(ledger->category(), Category::other);
  ledger->release(10, Category::gradient);
  EXPECT_EQ(ledger->of(Category::parameter).current, 101);
  EXPECT_EQ(ledger->of(Category::gradient).current, 0);
  EXPECT_EQ(ledger->of(Category::gradient).peak, 10);
  EXPECT_EQ(ledger->of(Category::other).peak, 0);
  EXPECT_EQ(ledger->total().current, 101);
  EXPECT_EQ(ledger->total().peak, 111);
}

// If this fails, a scope outside any World crashes.
TEST(Ledger, CategoryWithoutALedgerDoesNothing) {
  ASSERT_EQ(Ledger::active(), nullptr);
  Ledger::Category scope(Category::gradient);
}

// If this fails, two storages have one id, within a rank or across ranks.
TEST(Ledger, IdsAreNeverReused) {
  std::set<StorageId> ids;
  auto a = ledger_of(0), b = ledger_of(1);
  for (int i = 0; i < 50; ++i)
    for (auto& ledger : {a, b}) {
      EXPECT_TRUE(ids.insert(ledger->charge(8)).second);
      ledger->release(8, Category::other);
    }
}

// If this fails, an injected failure hits another allocation, charges bytes, or strikes twice.
TEST(Ledger, OnlyTheKthAllocationFails) {
  for (std::uint64_t k : {1u, 2u, 5u}) {
    auto ledger = ledger_of(3);
    ledger->fail_allocation(k);
    for (std::uint64_t i = 1; i <= 6; ++i) {
      std::int64_t before = ledger->total().current, live = ledger->live_storages();
      if (i != k) {
        EXPECT_NO_THROW(ledger->charge(8));
        continue;
      }
      expect_error([&] { ledger->charge(8); }, ErrorKind::runtime_error, "rank 3");
      EXPECT_EQ(ledger->total().current, before);
      EXPECT_EQ(ledger->live_storages(), live);
    }
  }
}

// If this fails, memory reports name a category wrongly.
TEST(Ledger, CategoriesHaveDistinctNames) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < memory_category_count; ++i) names.insert(to_string(Category(i)));
  EXPECT_EQ(names.size(), memory_category_count);
  EXPECT_EQ(to_string(Category::optimizer_state), "optimizer_state");
  EXPECT_THROW(to_string(Category(memory_category_count)), ContractViolation);
}

}  // namespace
}  // namespace simmesh
