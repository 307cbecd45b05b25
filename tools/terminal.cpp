#include "tools/terminal.h"

#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/check/error.h"
#include "core/check/one_line.h"
#include "tools/crew/crew.h"

namespace simmesh {

bool has_colours(std::FILE* stream) {
  // mpirun gives each process a terminal, wherever its own output goes.
  if (Crew::present() != nullptr) return false;
  const char* refusal = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  bool is_refused = refusal && *refusal != '\0';
  return isatty(fileno(stream)) && !is_refused && !(kind && std::string_view(kind) == "dumb");
}

Terminal terminal_of(std::FILE* stream) {
  Terminal terminal;
  if (!isatty(fileno(stream))) return terminal;
  terminal.write = [stream](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
  };
  terminal.seconds = [] {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.columns = size.ws_col;
  terminal.has_colours = has_colours(stream);
  return terminal;
}

std::string in_colours(std::string_view report) {
  std::string result;
  while (!report.empty()) {
    std::size_t end = std::min(report.find('\n'), report.size() - 1) + 1;
    std::string_view line = report.substr(0, end);
    report.remove_prefix(end);
    const char* colour = line.starts_with("FAIL ")   ? "\x1b[31m"
                         : line.starts_with("pass ") ? "\x1b[32m"
                                                     : nullptr;
    if (colour)
      result += fmt::format("{}{}\x1b[0m{}", colour, line.substr(0, 4), line.substr(4));
    else
      result += line;
  }
  return result;
}

void print_report(std::string_view report) {
  std::string text = printable_report(report);
  if (has_colours(stdout)) text = in_colours(text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    raise(ErrorKind::runtime_error, "tools/terminal",
          "expected to write to standard output, got an error");
}

}  // namespace simmesh
