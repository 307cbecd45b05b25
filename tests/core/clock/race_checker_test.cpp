#include "core/clock/race_checker.h"

#include <gtest/gtest.h>

#include "core/clock/vector_clock.h"

namespace simmesh {
namespace {

using Use = RaceChecker::Use;

const std::vector<std::string> stream_names = {"compute", "copies", "third"};

// Device is a checker with two streams and the clocks that a program would keep.
struct Device {
  RaceChecker checker;
  std::vector<VectorClock> clocks = std::vector<VectorClock>(3);

  std::string use(StreamIndex stream, Use what, MemoryRange range, const char* name = "op") {
    std::uint64_t number = clocks[stream].at(stream) + 1;
    clocks[stream].set(stream, number);
    return checker.use(range, what, {.name = name, .stream = stream, .number = number},
                       clocks[stream], stream_names);
  }
  void wait(StreamIndex stream, StreamIndex other) { clocks[stream].join(clocks[other]); }
};

MemoryRange bytes(std::size_t offset, std::size_t count, StorageId storage = 1) {
  return {.storage = storage, .storage_begin = 4096, .offset = offset, .bytes = count};
}

// Every pair of uses on two streams races unless both read, or an event is between them.
TEST(RaceChecker, OrdersEachPairOfUses) {
  for (Use first : {Use::read, Use::write})
    for (Use second : {Use::read, Use::write})
      for (bool waits : {false, true}) {
        Device device;
        EXPECT_EQ(device.use(0, first, bytes(0, 64)), "");
        if (waits) device.wait(1, 0);
        bool races = !waits && (first == Use::write || second == Use::write);
        EXPECT_EQ(!device.use(1, second, bytes(0, 64)).empty(), races);
      }
}

// One stream needs no events.
TEST(RaceChecker, AStreamIsInOrder) {
  Device device;
  for (Use use : {Use::write, Use::read, Use::write, Use::write})
    EXPECT_EQ(device.use(2, use, bytes(0, 64)), "");
}

// A wait for a third stream that waited itself orders too.
TEST(RaceChecker, OrderIsTransitive) {
  Device device;
  device.use(0, Use::write, bytes(0, 64));
  device.wait(2, 0);
  device.use(2, Use::read, bytes(128, 64));
  device.wait(1, 2);
  EXPECT_EQ(device.use(1, Use::write, bytes(0, 64)), "");
}

// A wait that comes too early orders nothing that follows.
TEST(RaceChecker, AnEarlyWaitIsNone) {
  Device device;
  device.use(0, Use::write, bytes(0, 64));
  device.wait(1, 0);
  device.use(0, Use::write, bytes(0, 64));
  EXPECT_NE(device.use(1, Use::read, bytes(0, 64)), "");
}

// Neighbouring bytes are nobody else's business, and a use of several pieces meets each of them.
TEST(RaceChecker, LooksAtBytes) {
  Device device;
  device.use(0, Use::write, bytes(0, 64));
  device.use(0, Use::write, bytes(64, 64));
  EXPECT_EQ(device.use(1, Use::write, bytes(128, 64)), "");
  EXPECT_EQ(device.use(2, Use::read, bytes(192, 1)), "");
  EXPECT_NE(device.use(1, Use::read, bytes(100, 92)), "");
  EXPECT_NE(device.use(2, Use::read, bytes(63, 1)), "");
  EXPECT_EQ(device.use(2, Use::read, bytes(64, 0)), "");
}

// A read of a part keeps the write of the rest in mind, and all readers count, not only the last.
TEST(RaceChecker, RemembersAllReaders) {
  Device device;
  device.use(0, Use::read, bytes(0, 64));
  device.use(1, Use::read, bytes(32, 64));
  device.wait(2, 1);
  EXPECT_EQ(device.use(2, Use::write, bytes(64, 32)), "");
  EXPECT_NE(device.use(2, Use::write, bytes(32, 32)), "");
}

// The report has all that is needed to find the missing wait.
TEST(RaceChecker, NamesBothSides) {
  Device device;
  device.use(0, Use::write, bytes(0, 64, 7), "fill");
  EXPECT_EQ(device.use(1, Use::read, bytes(16, 8, 7), "copy"),
            "copy on stream copies reads 8 bytes of storage 7 at 0x1010, which fill on stream "
            "compute writes without an order between the two; expected copies to wait for an event "
            "that compute records after it");
  std::string reused = device.use(2, Use::write, bytes(0, 64, 9), "zeros");
  EXPECT_NE(reused.find("before storage 7 there is handed back to the allocator"),
            std::string::npos)
      << reused;
}

// Memory of the host is told apart by its storage, and the host races with copies only.
TEST(RaceChecker, TheHostRacesWithCopies) {
  Device device;
  MemoryRange pinned{.storage = 5, .bytes = 64}, other{.storage = 6, .bytes = 64};
  VectorClock host;
  device.use(1, Use::write, pinned, "to_host");
  EXPECT_EQ(device.checker.use_on_host(other, Use::write, "step", host, stream_names), "");
  std::string race = device.checker.use_on_host(pinned, Use::read, "step", host, stream_names);
  EXPECT_NE(race.find("step on the host reads 64 bytes of the host's memory"), std::string::npos)
      << race;
  host.join(device.clocks[1]);
  EXPECT_EQ(device.checker.use_on_host(pinned, Use::read, "step", host, stream_names), "");
}

}  // namespace
}  // namespace simmesh
