#include "core/clock/stream.h"

#include <gtest/gtest.h>

#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/launch.h"

namespace simmesh {
namespace {

// Returns the failure of a device's program under every schedule: empty for none.
std::string failure_on_device(const std::function<void(Rank&)>& body) {
  std::string message;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = 2,
                   .schedule = Schedule::parse(schedule),
                   .threads = threads,
                   .device = DeviceModel{}});
      Outcome outcome = world.run(body);
      std::string said = outcome.ok() ? "" : outcome.failure->message;
      if (std::string(schedule) != "fifo" || threads > 1) {
        EXPECT_EQ(said, message) << schedule << " " << threads;
      }
      message = said;
    }
  return message;
}

// The use in the header: without the first or the last wait it races.
TEST(Stream, ACopyNeedsBothWaits) {
  for (bool waits_before : {true, false})
    for (bool waits_after : {true, false}) {
      std::string message = failure_on_device([=](Rank&) {
        Tensor x = zeros({4}, DType::float32), staged;
        Stream copies = Stream::make("copies");
        if (waits_before) copies.wait(Stream::current());
        {
          StreamScope scope(copies);
          staged = x.clone();
        }
        if (waits_after) Stream::current().wait(copies.record());
        add(staged, staged);
      });
      EXPECT_EQ(message.empty(), waits_before && waits_after);
      if (!waits_before) {
        EXPECT_NE(message.find("clone on stream copies reads"), std::string::npos) << message;
        EXPECT_NE(message.find("which zeros on stream compute writes"), std::string::npos);
      }
    }
}

// Memory that another stream still reads comes out again for somebody else: record_stream keeps it
// back, a wait before the free orders it, and without both the new owner races with the reader.
TEST(Stream, FreedMemoryIsReused) {
  enum class Cure { none, uses, wait };
  for (Cure cure : {Cure::none, Cure::uses, Cure::wait}) {
    std::string message = failure_on_device([=](Rank&) {
      Stream reader = Stream::make("reader");
      Tensor x = zeros({4}, DType::float32);
      reader.wait(Stream::current());
      {
        StreamScope scope(reader);
        x.clone();
      }
      if (cure == Cure::uses) reader.uses(x.storage()->address());
      if (cure == Cure::wait) Stream::current().wait(reader);
      x = Tensor();
      zeros({4}, DType::float32);
    });
    EXPECT_EQ(message.empty(), cure != Cure::none) << message;
    if (cure == Cure::none) {
      EXPECT_NE(message.find("handed back to the allocator"), std::string::npos) << message;
    }
  }
}

// Whatever the host waited for comes before all that it launches later, on any stream.
TEST(Stream, TheHostOrdersStreams) {
  for (bool synchronises : {true, false}) {
    std::string message = failure_on_device([=](Rank&) {
      Stream writer = Stream::make("writer");
      Tensor x;
      {
        StreamScope scope(writer);
        x = zeros({4}, DType::float32);
      }
      if (synchronises) writer.synchronize();
      add(x, x);
    });
    EXPECT_EQ(message.empty(), synchronises);
  }
}

// Scopes nest, and storages come from the pools of the innermost one.
TEST(Stream, ScopesNest) {
  EXPECT_EQ(failure_on_device([](Rank& rank) {
              Stream outer = Stream::make("outer"), inner = Stream::make("inner");
              {
                StreamScope first(outer);
                {
                  StreamScope second(inner);
                  EXPECT_EQ(Stream::current(), inner);
                  EXPECT_EQ(rank.ledger().allocator()->stream(), inner.index());
                }
                EXPECT_EQ(Stream::current(), outer);
              }
              EXPECT_EQ(Stream::current(), Stream());
              EXPECT_EQ(rank.ledger().allocator()->stream(), 0u);
            }),
            "");
}

// Programs with streams run where no device is modelled.
TEST(Stream, DoesNothingWithoutADevice) {
  World world({.ranks = 1});
  Outcome outcome = world.run([](Rank&) {
    Stream stream = Stream::make("nothing");
    StreamScope scope(stream);
    stream.wait(Stream::current());
    stream.synchronize();
    Tensor x = zeros({4}, DType::float32);
    stream.uses(x.storage()->address());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
