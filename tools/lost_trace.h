#pragma once

#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "core/check/error.h"
#include "core/engine/options/run_words.h"

namespace simmesh {

// LostTrace keeps the result of a run whose files can't be written, as on a full disk: its trace,
// its records, pictures of it.
//
//   LostTrace lost;
//   GateResult result = lost.run(words, [&](const RunWords& words, bool records) {
//     return run_gate(gate, words, records ? folders : TraceFolders());
//   });
//   lost.write([&] { write_file(picture, result.zero_schedule, "the picture"); });
//   print(result);
//   lost.raise_again();
class LostTrace {
 public:
  // run returns what `body` returns for these words and true. Where a file of the run can't be
  // written it calls `body` once more without a trace and with false, for no records; that gives
  // the same result, since runs are deterministic.
  template <class Body>
  auto run(const RunWords& words, Body body) {
    try {
      return body(words, true);
    } catch (const Error& error) {
      keep(error);
    }
    RunWords untraced = words;
    untraced.trace_file.clear();
    return body(std::as_const(untraced), false);
  }

  // write calls a function that writes files, and keeps the error where they can't be written.
  template <class Write>
  void write(Write write_files) {
    try {
      write_files();
    } catch (const Error& error) {
      keep(error);
    }
  }

  // raise_again raises the first error that was kept, after what was printed so far.
  void raise_again() const {
    if (!error_) return;
    std::fflush(stdout);
    throw Error(*error_);
  }

 private:
  // Called in a handler: raises every other error again.
  void keep(const Error& error) {
    if (!std::string_view(error.what()).starts_with("[check/write_file]")) throw;
    if (!error_) error_ = error;
  }

  std::optional<Error> error_;
};

}  // namespace simmesh
