#include "tools/spread_options.h"

#include "core/check/error.h"
#include "core/engine/spread/socket_processes.h"
#include "core/engine/spread/spread_work.h"
#include "tools/crew/crew.h"
#include "tools/whole_number.h"

namespace simmesh {

void SpreadOptions::add_to(CLI::App& app, const std::string& jobs) {
  app.add_option("--processes", processes_,
                 "processes of this machine over which the ranks of each world are spread; changes "
                 "no result")
      ->configurable(false)
      ->capture_default_str()
      ->check(whole_number(1, SocketProcesses::processes_max));
  app.add_flag("--spread", spread_,
               "under mpirun: spread the ranks of each world over the processes, instead of "
               "sharing the " +
                   jobs + " among them")
      ->configurable(false);
}

void SpreadOptions::expect_possible(const RunWords& words, std::int64_t jobs) const {
  if (spread_ && Crew::present() == nullptr)
    raise(ErrorKind::value_error, "tools/spread",
          "expected --spread under mpirun, got it without; --processes N makes processes of this "
          "machine");
  if (processes_ > 1 && Crew::present() != nullptr)
    raise(ErrorKind::value_error, "tools/spread",
          "expected --spread under mpirun, which has made the processes, got --processes {}",
          processes_);
  if (!is_given() || (words.threads == 1 && jobs == 1)) return;
  raise(ErrorKind::value_error, "tools/spread",
        "expected no {} with {}: a world that is spread runs on one thread of each process",
        words.threads > 1 ? "--threads" : "--jobs", spread_ ? "--spread" : "--processes");
}

int SpreadOptions::run(const std::function<int()>& work) const {
  if (spread_) return run_spread_over(Crew::present()->processes(), work);
  return processes_ > 1 ? run_in_processes(processes_, work) : work();
}

}  // namespace simmesh
