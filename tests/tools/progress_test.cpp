#include "tools/progress.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// Screen is a terminal with a clock that the test sets.
struct Screen {
  double now = 1000;
  std::string written;
  std::size_t columns = 80;
  bool has_colours = false;

  Terminal terminal() {
    return {.write = [this](std::string_view text) { written += text; },
            .seconds = [this] { return now; },
            .columns = columns,
            .has_colours = has_colours};
  }
};

TEST(ProgressLine, ShowsRateAndTimeLeftInPlace) {
  Screen screen;
  ProgressLine line(screen.terminal());
  line.show({"schedules", 0, 1000});
  EXPECT_EQ(screen.written, "") << "a short command must not flash";
  screen.now += 2;
  line.show({"schedules", 100, 1000});
  EXPECT_EQ(screen.written, "\r100 of 1000 schedules, 50/s, 18 s left");
  screen.written.clear();
  screen.now += 2;
  line.show({"schedules", 990, 1000});
  EXPECT_EQ(screen.written, "\r990 of 1000 schedules, 248/s, 1 s left");
  screen.written.clear();
  line.erase();
  EXPECT_EQ(screen.written, "\r" + std::string(79, ' ') + "\r");
  screen.written.clear();
  line.erase();
  EXPECT_EQ(screen.written, "");
}

// A shorter text must cover all of a longer one.
TEST(ProgressLine, CoversWhatWasThere) {
  Screen screen;
  ProgressLine line(screen.terminal());
  line.show({"cases", 0, 20000});
  screen.now += 10;
  line.show({"cases", 1, 20000});
  EXPECT_EQ(screen.written, "\r1 of 20000 cases, 0.1/s, 56 h left");
  screen.written.clear();
  screen.now += 10;
  line.show({"cases", 20000, 20000});
  EXPECT_EQ(screen.written, "\r20000 of 20000 cases, 1000/s, 0 s left");
  screen.written.clear();
  screen.now += 10;
  line.show({"x", 1, 3});
  screen.now += 10;
  line.show({"x", 1, 3});
  EXPECT_EQ(screen.written, "\r1 of 3 x, 0.1/s, 20 s left" + std::string(12, ' '));
}

TEST(ProgressLine, IsDrawnTenTimesASecondAtMost) {
  Screen screen;
  ProgressLine line(screen.terminal());
  int draws = 0;
  for (int i = 0; i <= 1000; ++i, screen.now += 0.001) {
    screen.written.clear();
    line.show({"cases", std::uint64_t(i), 1000});
    draws += !screen.written.empty();
  }
  EXPECT_GE(draws, 8);
  EXPECT_LE(draws, 10);
}

TEST(ProgressLine, FitsTheTerminalAndShowsFailures) {
  Screen screen{.columns = 30, .has_colours = true};
  ProgressLine line(screen.terminal());
  line.show({"cases", 0, 100, 0});
  screen.now += 1;
  line.show({"cases", 5, 100, 2});
  EXPECT_EQ(screen.written, "\r\x1b[31m5 of 100 cases, 2 failed, 5.0\x1b[0m");
  screen.has_colours = false;
  screen.written.clear();
  ProgressLine plain(screen.terminal());
  plain.show({"cases", 0, 100, 0});
  screen.now += 1;
  plain.show({"cases", 5, 100, 2});
  EXPECT_EQ(screen.written, "\r5 of 100 cases, 2 failed, 5.0");
}

TEST(ProgressLine, WithoutATerminalDoesNothing) {
  ProgressLine line{Terminal()};
  line.show({"cases", 1, 2});
  line.erase();
}

}  // namespace
}  // namespace simmesh
