#include "checkpoint/zero_cost/writer.h"

#include <gmock/gmock.h>

#include "core/check/error.h"
#include "core/engine/deputy.h"
#include "tests/checkpoint/background_worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::background_schedules;
using ::testing::HasSubstr;
using testing::run_background;

Writer::Job job_of(const std::function<SaveReport()>& work) {
  return {.work = work, .what = "a place"};
}

[[noreturn]] SaveReport fails() { raise(ErrorKind::value_error, "test", "no good"); }

// Jobs are done in order, and the oldest one makes room.
TEST(Writer, MakesRoomFromTheOldest) {
  for (const WorldOptions& options : background_schedules(2))
    run_background(options, [] {
      Writer& writer = Writer::of_this_rank();
      auto done = std::make_shared<std::int64_t>(0);
      for (int i = 0; i < 4; ++i)
        writer.start(job_of([done] { return SaveReport{.number = ++*done}; }));
      writer.make_room(3);
      EXPECT_GE(*done, 2);
      AsyncSave last = writer.start(job_of([done] { return SaveReport{.number = ++*done}; }));
      EXPECT_EQ(last.wait().number, 5);
      writer.make_room(1);
    });
}

// An error is raised once, by the first call; not again after a wait.
TEST(Writer, TellsAnErrorOnce) {
  for (const WorldOptions& options : background_schedules(1))
    run_background(options, [] {
      Writer& writer = Writer::of_this_rank();
      writer.start(job_of(fails));
      EXPECT_THAT(error_text([&] { writer.make_room(1); }),
                  HasSubstr("the writer of rank 0 failed at a place: [test] no good"));
      EXPECT_EQ(error_text([&] { writer.make_room(1); }), "");
      AsyncSave second = writer.start(job_of(fails));
      for (int i = 0; i < 2; ++i)
        EXPECT_THAT(error_text([&] { second.wait(); }), HasSubstr("no good"));
      EXPECT_EQ(error_text([&] { writer.raise_if_failed(); }), "");
      AsyncSave third = writer.start(job_of(fails));
      Deputy::of_this_rank(writing_deputy).start([] {}).wait();
      EXPECT_TRUE(third.done());
      EXPECT_THAT(error_text([&] { writer.raise_if_failed(); }), HasSubstr("no good"));
      EXPECT_EQ(error_text([&] { writer.make_room(1); }), "");
    });
}

}  // namespace
}  // namespace simmesh::checkpoint
