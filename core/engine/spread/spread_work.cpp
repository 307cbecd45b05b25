#include "core/engine/spread/spread_work.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/check/error.h"
#include "core/engine/spread/process_frame.h"
#include "core/engine/spread/socket_processes.h"
#include "core/engine/spread/world_spread.h"

namespace simmesh {

namespace {

// WorkEnding is how a process's work has ended: by a status, or by an error.
struct WorkEnding {
  int status = 0;
  std::string error = {};
  std::exception_ptr exception = {};
};

void do_work(Processes& processes, const std::function<int()>& work, WorkEnding& ending) {
  WorldSpread spread(processes);
  SpreadScope scope(spread);
  try {
    ending.status = work();
  } catch (const ProcessLost&) {
    throw;
  } catch (const std::exception& error) {
    ending.error = error.what();
    ending.exception = std::current_exception();
  }
}

// The end of a program is told with its place, as all else is: another process may still ask for
// something.
ProcessFrame end_of_program() {
  return {.kind = ProcessFrame::Kind::end, .name = "the end of the program"};
}

// Returns the error of another process from what it has sent.
std::string error_told(ProcessBytes bytes) {
  ProcessFrame frame = frame_from(std::move(bytes));
  if (frame.is_at(end_of_program())) return message_text(frame.payload);
  return fmt::format("expected the end of the program, as in process 0, got {}: {}", frame.text(),
                     took_another_way);
}

// An error that all processes have is one of the input, which this process raises as it is.
void raise_first_of(const std::vector<std::string>& errors, const std::exception_ptr& own) {
  std::size_t count = 0, first = errors.size();
  for (std::size_t i = errors.size(); i-- > 0;)
    if (!errors[i].empty()) ++count, first = i;
  if (count == 0) return;
  if (count == errors.size()) std::rethrow_exception(own);
  throw std::runtime_error(
      fmt::format("process {} of {}: {}", first, errors.size(), errors[first]));
}

}  // namespace

int run_spread_over(Processes& processes, const std::function<int()>& work) {
  WorkEnding own;
  try {
    do_work(processes, work, own);
    if (processes.number() != 0) {
      std::vector<Parcel> verdict = {
          {0, frame_bytes(end_of_program(), ProcessBytes(message_bytes(own.error)))}};
      processes.exchange(verdict, {});
      return own.exception ? 2 : own.status;
    }
    std::vector<std::string> errors = {own.error};
    for (ProcessBytes& bytes : processes.exchange({}, processes.others()))
      errors.push_back(error_told(std::move(bytes)));
    raise_first_of(errors, own.exception);
  } catch (const ProcessLost&) {
    if (processes.number() != 0) return 2;
    // An error of this process comes first: another one may have ended because of it.
    if (!own.exception) throw;
    std::rethrow_exception(own.exception);
  }
  return own.status;
}

int run_in_processes(std::int64_t count, const std::function<int()>& work) {
  // Each process would write what isn't written yet.
  std::fflush(nullptr);
  std::unique_ptr<SocketProcesses> processes = SocketProcesses::fork(int(count));
  if (processes->number() == 0) return run_spread_over(*processes, work);
  int status = 2;
  if (std::freopen("/dev/null", "w", stdout) != nullptr) status = run_spread_over(*processes, work);
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace simmesh
