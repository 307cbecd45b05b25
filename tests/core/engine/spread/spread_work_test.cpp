#include "core/engine/spread/spread_work.h"

#include <csignal>
#include <cstdio>
#include <gmock/gmock.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "core/engine/spread/world_spread.h"

namespace simmesh {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Returns the status of some work in three processes, or its error.
std::string ending_of_work(const std::function<int()>& work) {
  try {
    return std::to_string(run_in_processes(3, work));
  } catch (const std::exception& error) {
    return error.what();
  }
}

// A process that isn't the first would go on after the work, or print.
TEST(SpreadWork, OneProcessGoesOn) {
  pid_t before = getpid();
  EXPECT_EQ(ending_of_work([] { return WorldSpread::active()->count(); }), "3");
  EXPECT_EQ(getpid(), before);
  EXPECT_EQ(WorldSpread::active(), nullptr);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

// An error of one process would be lost, and one of all would come three times.
TEST(SpreadWork, RaisesTheErrorOfAnyProcess) {
  auto fail_in = [](int process) {
    return [process]() -> int {
      if (process < 0 || WorldSpread::active()->number() == process)
        throw std::runtime_error("expected a file");
      return 0;
    };
  };
  EXPECT_EQ(ending_of_work(fail_in(-1)), "expected a file");
  EXPECT_EQ(ending_of_work(fail_in(2)), "process 2 of 3: expected a file");
  EXPECT_EQ(ending_of_work(fail_in(0)), "process 0 of 3: expected a file");
}

// A process that asks for a value when another one has no more work would break a contract, or wait
// for ever. The other one may have ended by then.
TEST(SpreadWork, RaisesAQuestionAtTheEnd) {
  auto ask_in = [](int process) {
    return [process]() -> int {
      WorldSpread& active = *WorldSpread::active();
      if (active.number() == process) active.of_first("the loss", nullptr);
      return 0;
    };
  };
  auto has_ended = HasSubstr("of 3 to go on, got its end");
  EXPECT_THAT(ending_of_work(ask_in(0)),
              AnyOf(has_ended, HasSubstr("expected all processes at the loss (question 1 outside "
                                         "any run), got process 1 at the end of the program")));
  EXPECT_THAT(
      ending_of_work(ask_in(1)),
      AnyOf(has_ended,
            HasSubstr("process 1 of 3: expected the end of the program, as in process 0, got the "
                      "loss (question 1 outside any run): the program takes another way there")));
}

// A process that is killed would leave the first one waiting.
TEST(SpreadWork, RaisesTheEndOfAProcess) {
  EXPECT_THAT(ending_of_work([]() -> int {
                if (WorldSpread::active()->number() == 1) std::raise(SIGKILL);
                return 0;
              }),
              HasSubstr("expected process 1 of 3 to go on, got its end: by signal 9 (Killed)"));
}

}  // namespace
}  // namespace simmesh
