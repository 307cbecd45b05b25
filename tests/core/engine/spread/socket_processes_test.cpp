#include "core/engine/spread/socket_processes.h"

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/wait.h>

#include "tests/core/engine/spread/run_spread.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

ProcessBytes bytes_from(int process, std::size_t count) {
  ProcessBytes bytes = ProcessBytes::uninitialised(count);
  if (count > 0) std::memset(bytes.mutable_data(), 17 * process + 1, count);
  return bytes;
}

// Two processes that both send more than a socket takes would wait for each other for ever.
TEST(SocketProcesses, ExchangeLongMessages) {
  std::string text = run_spread(3, [](WorldSpread& spread) {
    std::vector<Parcel> parcels;
    std::vector<int> others;
    for (int i = 0; i < 3; ++i) {
      if (i == spread.number()) continue;
      others.push_back(i);
      parcels.push_back({i, bytes_from(spread.number(), 3'000'000)});
      parcels.push_back({i, {}});
    }
    std::vector<ProcessBytes> received = spread.processes().exchange(parcels, others);
    std::vector<ProcessBytes> empty = spread.processes().exchange({}, others);
    for (std::size_t i = 0; i < others.size(); ++i)
      if (received[i] != bytes_from(others[i], 3'000'000) || !empty[i].empty())
        return std::string("other bytes");
    return std::string("the bytes");
  });
  EXPECT_EQ(text, "the bytes");
}

// Messages that are read together, or a head that comes in two reads, would be cut elsewhere.
TEST(SocketProcesses, KeepTheBordersOfShortMessages) {
  std::string text = run_spread(2, [](WorldSpread& spread) {
    constexpr std::size_t count = 700;
    int other = 1 - spread.number();
    std::vector<Parcel> parcels;
    for (std::size_t i = 0; i < count; ++i)
      parcels.push_back({other, bytes_from(spread.number(), i)});
    std::vector<ProcessBytes> first = spread.processes().exchange(parcels, {&other, 1});
    if (first[0] != bytes_from(other, 0)) return std::string("other bytes first");
    for (std::size_t i = 1; i < count; ++i)
      if (spread.processes().exchange({}, {&other, 1})[0] != bytes_from(other, i))
        return fmt::format("other bytes in message {}", i);
    return std::string("the bytes");
  });
  EXPECT_EQ(text, "the bytes");
}

// A process that waits for a killed one would wait for ever, or report it as one that has left.
TEST(SocketProcesses, ReportAKilledProcess) {
  std::string text = run_spread(3, [](WorldSpread& spread) {
    if (spread.number() == 2) std::raise(SIGKILL);
    int from = 2;
    spread.processes().exchange({}, {&from, 1});
    return std::string("went on");
  });
  EXPECT_EQ(text,
            "error: [engine/processes] expected process 2 of 3 to go on, got its end: by signal 9 "
            "(Killed)");
}

// A process that is killed later than another would be taken for the reason.
TEST(SocketProcesses, ReportTheProcessThatWasKilled) {
  std::string text = run_spread(3, [](WorldSpread& spread) {
    int next = spread.number() + 1;
    if (next == 3) std::raise(SIGKILL);
    try {
      spread.processes().exchange({}, {&next, 1});
    } catch (const ProcessLost&) {
      if (spread.number() > 0) std::_Exit(2);
      throw;
    }
    return std::string("went on");
  });
  EXPECT_EQ(text,
            "error: [engine/processes] expected process 2 of 3 to go on, got its end: by signal 9 "
            "(Killed)");
}

// A process that nobody waits for would stay as a zombie, or go on.
TEST(SocketProcesses, LeaveNoProcessBehind) {
  pid_t child = ::fork();
  if (child == 0) {
    std::vector<pid_t> pids;
    {
      std::unique_ptr<SocketProcesses> processes = SocketProcesses::fork(3);
      if (processes->number() > 0) std::_Exit(0);
      pids = processes->pids();
    }
    bool has_left = false;
    for (pid_t pid : pids) has_left |= kill(pid, 0) == 0;
    std::_Exit(has_left || pids.size() != 2 || waitpid(-1, nullptr, WNOHANG) != -1 ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// A count of 0 would be taken for that of the machine.
TEST(SocketProcesses, RefuseNoProcess) {
  testing::expect_error([] { SocketProcesses::fork(0); }, ErrorKind::value_error,
                        "expected 1 to 256 processes, got 0");
}

}  // namespace
}  // namespace simmesh
