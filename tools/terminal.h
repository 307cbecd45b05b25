#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace simmesh {

// Terminal is where a line of progress is drawn. Tests use functions of their own.
struct Terminal {
  std::function<void(std::string_view)> write = nullptr;  // null: no terminal, nothing is drawn
  std::function<double()> seconds = nullptr;              // a clock that never goes back
  std::size_t columns = 80;
  bool has_colours = false;
};

// has_colours is true if a stream is a terminal that shows colours: TERM isn't "dumb", and the
// variable NO_COLOR is absent or empty.
bool has_colours(std::FILE* stream);

// terminal_of returns the terminal that a stream writes to; without one, `write` is null.
Terminal terminal_of(std::FILE* stream);

// in_colours returns a report in which the word FAIL is red and pass is green where they begin a
// line.
std::string in_colours(std::string_view report);

// print_report writes a report, text or JSON, to standard output, in colours if it is a terminal
// that has them. Names in it may come from files, so characters that change a terminal are escaped
// (printable_report). Raises a RuntimeError if it can't be written.
void print_report(std::string_view report);

}  // namespace simmesh
