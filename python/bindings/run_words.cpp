#include "python/bindings/run_words.h"

#include "core/check/write_file.h"
#include "core/engine/options/arithmetic.h"
#include "core/engine/schedules/schedule.h"

namespace simmesh::python {

RunWords words_of(const RunArguments& arguments) {
  Schedule::parse(arguments.schedule);
  if (arguments.arithmetic) Arithmetic::parse(*arguments.arithmetic);
  if (!arguments.trace.empty()) expect_writable(arguments.trace, "the trace");
  RunWords words{.seed = arguments.seed,
                 .schedule = arguments.schedule,
                 .threads = arguments.threads,
                 .arithmetic = arguments.arithmetic,
                 .timeout_seconds = arguments.timeout,
                 .trace_file = arguments.trace};
  if (arguments.release) words.release = parse_release(*arguments.release);
  return words;
}

}  // namespace simmesh::python
