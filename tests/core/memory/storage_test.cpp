#include "core/memory/storage.h"

#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>

#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {
namespace {

// Two ranks over one physical memory. Each test ends by checking that no byte is left.
class StorageTest : public ::testing::Test {
 protected:
  void TearDown() override {
    Ledger::set_active(nullptr);
    for (auto& ledger : ledgers) {
      EXPECT_EQ(ledger->total().current, 0);
      EXPECT_EQ(ledger->live_storages(), 0);
    }
    EXPECT_EQ(memory->current_bytes(), 0);
    EXPECT_EQ(memory->live_buffers(), 0);
    EXPECT_EQ(memory->live_uncharged(), 0);
  }

  Ledger& as_rank(std::size_t rank) {
    Ledger::set_active(ledgers[rank].get());
    return *ledgers[rank];
  }

  StoragePtr filled(std::size_t bytes, int value) {
    StoragePtr storage = Storage::make(bytes);
    std::memset(storage->mutable_data(), value, bytes);
    return storage;
  }

  boost::intrusive_ptr<PhysicalMemory> memory{new PhysicalMemory({})};
  boost::intrusive_ptr<Ledger> ledgers[2] = {new Ledger(0, memory), new Ledger(1, memory)};
};

// If this fails, a write on one rank is seen on another, or is not counted.
TEST_F(StorageTest, FirstWriteToSharedBytesCopies) {
  as_rank(0);
  StoragePtr a = filled(64, 1);
  as_rank(1);
  StoragePtr b = Storage::share(a->buffer(), 16, 32);
  EXPECT_EQ(b->data(), a->data() + 16);
  EXPECT_EQ(memory->live_buffers(), 1);
  StorageId id = b->id();
  b->mutable_data()[0] = std::byte{9};
  EXPECT_EQ(a->data()[16], std::byte{1});
  EXPECT_EQ(b->data()[0], std::byte{9});
  EXPECT_EQ(b->data()[31], std::byte{1}) << "the rest of the bytes must come along";
  EXPECT_EQ(b->buffer_offset(), 0u);
  EXPECT_EQ(b->id(), id) << "identity stays";
  EXPECT_EQ(memory->live_buffers(), 2);
  EXPECT_EQ(ledgers[1]->copies_on_write(), 1u);
  EXPECT_EQ(ledgers[0]->copies_on_write(), 0u);
  b->mutable_data();
  a->mutable_data();
  EXPECT_EQ(ledgers[1]->copies_on_write(), 1u) << "own bytes are written in place";
  EXPECT_EQ(ledgers[0]->copies_on_write(), 0u) << "the last owner writes in place";
}

// If this fails, sharing makes a rank look smaller than on a device, or a copy looks larger.
TEST_F(StorageTest, ChargesCountInFullWhoeverShares) {
  as_rank(0);
  StoragePtr a = filled(64, 1);
  as_rank(1);
  StoragePtr b = Storage::share(a->buffer(), 0, 64);
  EXPECT_EQ(ledgers[0]->total().current, 64);
  EXPECT_EQ(ledgers[1]->total().current, 64);
  std::int64_t physical = memory->current_bytes();
  EXPECT_LT(physical, 2 * 64 + 64) << "shared bytes count once";
  b->mutable_data();
  EXPECT_EQ(ledgers[1]->total().current, 64);
  EXPECT_EQ(memory->current_bytes(), 2 * physical);
}

// If this fails, a received result gets a new identity or a second charge, or is not shared.
TEST_F(StorageTest, AdoptSharesBytesAndKeepsIdentity) {
  as_rank(0);
  StoragePtr a = filled(64, 1);
  as_rank(1);
  StoragePtr b = filled(32, 2);
  StorageId id = b->id();
  b->adopt(a->buffer(), 32);
  EXPECT_EQ(b->data(), a->data() + 32);
  EXPECT_EQ(b->id(), id);
  EXPECT_EQ(b->bytes(), 32u);
  EXPECT_EQ(ledgers[1]->total().current, 32);
  EXPECT_EQ(ledgers[1]->allocations(), 1u);
  EXPECT_EQ(memory->live_buffers(), 1) << "its old bytes are free";
  a->mutable_data()[40] = std::byte{7};
  EXPECT_EQ(b->data()[8], std::byte{1});
  EXPECT_EQ(ledgers[0]->copies_on_write(), 1u);
  EXPECT_THROW(b->adopt(a->buffer(), 33), ContractViolation);
}

// If this fails, bytes are released from another category, or from the rank that happens to run.
TEST_F(StorageTest, ReleasesWhereItWasCharged) {
  Ledger& first = as_rank(0);
  StoragePtr storage;
  {
    Ledger::Category scope(MemoryCategory::gradient);
    storage = Storage::make(40);
  }
  as_rank(1);
  storage.reset();
  EXPECT_EQ(first.of(MemoryCategory::gradient).current, 0);
  EXPECT_EQ(first.of(MemoryCategory::gradient).peak, 40);
  EXPECT_EQ(ledgers[1]->total().peak, 0);
}

// If this fails, a rank is charged for memory outside its device, or its bytes and leaks get lost.
TEST_F(StorageTest, UnchargedStoragesAreOnlyCounted) {
  Ledger& ledger = as_rank(0);
  StoragePtr kept;
  {
    Ledger::Uncharged scope;
    kept = Storage::make(40);
    std::memset(kept->mutable_data(), 1, 40);
  }
  EXPECT_EQ(ledger.allocations(), 0u);
  EXPECT_EQ(memory->live_uncharged(), 1);
  EXPECT_GE(memory->current_bytes(), 40);
  kept->free();
  EXPECT_EQ(memory->live_uncharged(), 0);
  kept->restore();
  EXPECT_EQ(memory->live_uncharged(), 1);
  EXPECT_EQ(ledger.total().peak, 0);
  StoragePtr shared = Storage::share(kept->buffer(), 0, 40);
  kept->mutable_data()[0] = std::byte(2);
  EXPECT_EQ(memory->live_buffers(), 2) << "the copy isn't counted";
  EXPECT_EQ(ledger.copies_on_write(), 0u);
  EXPECT_EQ(ledger.total().current, 40) << "what shares its bytes is charged";
}

// If this fails, a failure in the scope leaves a rank uncharged for ever, or one that doesn't apply
// takes effect.
TEST_F(StorageTest, UnchargedScopesEnd) {
  Ledger& ledger = as_rank(0);
  try {
    Ledger::Uncharged scope;
    throw std::runtime_error("in between");
  } catch (const std::runtime_error&) {
  }
  StoragePtr charged = Storage::make(8);
  EXPECT_EQ(ledger.total().current, 8);
  Ledger::Uncharged not_wanted(false);
  StoragePtr more = Storage::make(8);
  EXPECT_EQ(ledger.total().current, 16);
}

// If this fails, a buffer that is charged before its bytes come can't get them, or has some before.
TEST_F(StorageTest, AChargedStorageWithoutBytesAdoptsThem) {
  Ledger& ledger = as_rank(0);
  StoragePtr empty = Storage::make_unbacked(16, true), bytes = Storage::make(16);
  std::memset(bytes->mutable_data(), 7, 16);
  EXPECT_FALSE(empty->is_meta() || empty->has_elements());
  EXPECT_THROW(empty->data(), Error);
  empty->adopt(bytes->buffer(), 0);
  EXPECT_TRUE(empty->has_elements());
  EXPECT_EQ(empty->data()[15], std::byte(7));
  EXPECT_EQ(ledger.total().current, 32);
  EXPECT_TRUE(Storage::make_unbacked(16, false)->is_meta());
  EXPECT_EQ(ledger.total().current, 32);
}

// If this fails, an injected failure leaks the bytes it had allocated.
TEST_F(StorageTest, FailedAllocationLeavesNothing) {
  as_rank(0).fail_allocation(2);
  StoragePtr kept = Storage::make(8);
  EXPECT_THROW(Storage::make(100), Error);
  EXPECT_EQ(memory->live_buffers(), 1);
  EXPECT_EQ(ledgers[0]->total().current, 8);
  EXPECT_EQ(ledgers[0]->total().peak, 8);
  EXPECT_NO_THROW(Storage::make(100));
}

// If this fails, an id names two storages: of one rank, of two ranks, or outside any World.
TEST_F(StorageTest, IdsAreNeverReused) {
  std::set<StorageId> ids;
  for (int i = 0; i < 30; ++i) {
    as_rank(std::size_t(i % 2));
    EXPECT_TRUE(ids.insert(Storage::make(8)->id()).second);
    Ledger::set_active(nullptr);
    EXPECT_TRUE(ids.insert(Storage::make(8)->id()).second);
  }
}

// If this fails, empty tensors crash, or a range past the end is read.
TEST_F(StorageTest, RangesAreCheckedAndMayBeEmpty) {
  as_rank(0);
  StoragePtr a = filled(16, 1);
  EXPECT_NO_THROW(Storage::share(a->buffer(), 16, 0)->mutable_data());
  EXPECT_NO_THROW(Storage::share(a->buffer(), 999, 0)->mutable_data());
  EXPECT_THROW(Storage::share(a->buffer(), 9, 8), ContractViolation);
  StoragePtr empty = Storage::make(0);
  EXPECT_NO_THROW(empty->adopt(a->buffer(), 999));
  EXPECT_EQ(ledgers[0]->total().current, 16);
}

// Bytes that were given back are charged no more, and using them says so; identity and views stay.
TEST_F(StorageTest, GivesBytesBackAndTakesThemAgain) {
  Ledger& ledger = as_rank(0);
  StoragePtr storage = filled(64, 7);
  StorageId id = storage->id();
  std::uint32_t changes = storage->changes();
  storage->free();
  storage->free();
  EXPECT_EQ(ledger.total().current, 0);
  EXPECT_TRUE(storage->is_freed());
  EXPECT_THROW(storage->data(), Error);
  storage->restore();
  EXPECT_EQ(ledger.total().current, 64);
  EXPECT_EQ(storage->id(), id);
  EXPECT_EQ(storage->changes(), changes);
  std::memset(storage->mutable_data(), 1, 64);
  // A freed one that adopts bytes has those.
  storage->free();
  StoragePtr other = Storage::make(64);
  storage->adopt(other->buffer(), 0);
  EXPECT_FALSE(storage->is_freed());
  EXPECT_EQ(storage->data(), other->data());
  EXPECT_EQ(ledger.total().current, 128);
}

}  // namespace
}  // namespace simmesh
