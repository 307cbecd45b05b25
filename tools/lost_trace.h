#pragma once

#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "core/check/error.h"
#include "core/engine/options/run_words.h"

namespace simmesh {

// LostTrace keeps the result of a run whose trace can't be written, as on a full disk.
//
//   LostTrace lost;
//   GateResult result =
//       lost.run(words, [&](const RunWords& words) { return run_gate(gate, words); });
//   print(result);
//   lost.raise_again();
class LostTrace {
 public:
  // run returns what `body` returns for these words. Where the trace can't be written it calls
  // `body` once more without one, which gives the same result, since runs are deterministic.
  template <class Body>
  auto run(const RunWords& words, Body body) {
    try {
      return body(words);
    } catch (const Error& error) {
      bool is_of_file = std::string_view(error.what()).starts_with("[check/write_file]");
      if (words.trace_file.empty() || !is_of_file) throw;
      error_ = error;
    }
    RunWords untraced = words;
    untraced.trace_file.clear();
    return body(std::as_const(untraced));
  }

  // raise_again raises the error of the trace, if there was one, after what was printed so far.
  void raise_again() const {
    if (!error_) return;
    std::fflush(stdout);
    throw Error(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace simmesh
