#include "tools/progress.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace simmesh {

namespace {

constexpr double redraw_seconds = 0.1;

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 100 * 60) return fmt::format("{:.0f} min", std::ceil(seconds / 60));
  return fmt::format("{:.0f} h", std::ceil(seconds / 3600));
}

}  // namespace

ProgressLine::ProgressLine(Terminal terminal) : terminal_(std::move(terminal)) {}

std::string ProgressLine::text_of(const RunProgress& progress, double seconds) const {
  std::string text = fmt::format("{} of {} {}", progress.done, progress.total, progress.what);
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  double rate = double(progress.done) / seconds;
  if (progress.done > 0) {
    text += fmt::format(", {:.{}f}/s", rate, rate < 10 ? 1 : 0);
    text += fmt::format(", {} left", duration(double(progress.total - progress.done) / rate));
  }
  // In the last column the cursor may be on the next line already.
  return text.substr(0, std::max<std::size_t>(terminal_.columns, 2) - 1);
}

void ProgressLine::show(const RunProgress& progress) {
  if (!terminal_.write) return;
  double now = terminal_.seconds();
  if (what_ != progress.what) {
    what_ = progress.what;
    began_ = drawn_ = now;
  }
  if (now - drawn_ < redraw_seconds) return;
  drawn_ = now;
  std::string text = text_of(progress, now - began_);
  std::size_t width = text.size();
  std::size_t rest = width_ > width ? width_ - width : 0;
  if (terminal_.has_colours && progress.failed > 0) text = "\x1b[31m" + text + "\x1b[0m";
  terminal_.write("\r" + text + std::string(rest, ' '));
  width_ = width;
}

void ProgressLine::erase() {
  if (width_ == 0) return;
  // A terminal may have put ^C after the line.
  terminal_.write("\r" + std::string(std::max<std::size_t>(terminal_.columns, 2) - 1, ' ') + "\r");
  width_ = 0;
}

}  // namespace simmesh
