#include "tools/spread_work.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/check/error.h"
#include "core/engine/spread/message_bytes.h"
#include "core/engine/spread/socket_processes.h"
#include "core/engine/spread/world_spread.h"

namespace simmesh {

namespace {

// Returns the error by which a process's work has ended; empty for none.
std::string error_of_work(Processes& processes, const std::function<int()>& work, int& status) {
  WorldSpread spread(processes);
  SpreadScope scope(spread);
  try {
    status = work();
  } catch (const ProcessLost&) {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

// An error that all processes have is one of the input.
void raise_first_of(const std::vector<std::string>& errors) {
  std::size_t count = 0, first = errors.size();
  for (std::size_t i = errors.size(); i-- > 0;)
    if (!errors[i].empty()) ++count, first = i;
  if (count == 0) return;
  if (count == errors.size()) throw std::runtime_error(errors[0]);
  throw std::runtime_error(
      fmt::format("process {} of {}: {}", first, errors.size(), errors[first]));
}

}  // namespace

int run_spread_over(Processes& processes, const std::function<int()>& work) {
  int status = 0;
  try {
    std::string own = error_of_work(processes, work, status);
    if (processes.number() != 0) {
      auto text = message_bytes(own);
      std::vector<Parcel> verdict = {{0, {text.begin(), text.end()}}};
      processes.exchange(verdict, {});
      return own.empty() ? status : 2;
    }
    std::vector<std::string> errors = {own};
    for (const ProcessBytes& text : processes.exchange({}, processes.others()))
      errors.push_back(message_text(text));
    raise_first_of(errors);
  } catch (const ProcessLost&) {
    if (processes.number() == 0) throw;
    return 2;
  }
  return status;
}

int run_in_processes(std::int64_t count, const std::function<int()>& work) {
  std::unique_ptr<SocketProcesses> processes = SocketProcesses::fork(int(count));
  if (processes->number() == 0) return run_spread_over(*processes, work);
  int status = 2;
  if (std::freopen("/dev/null", "w", stdout) != nullptr) status = run_spread_over(*processes, work);
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace simmesh
