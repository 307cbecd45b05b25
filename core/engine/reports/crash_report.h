#pragma once

#include <string_view>

#include "core/check/stack_trace.h"
#include "core/engine/schedules/schedule.h"

namespace simmesh {

class ReportedRun;

// A crash is the end of a program inside a rank that no Outcome can report: a stack that overflows,
// std::terminate, std::exit, std::quick_exit, a rank that never gives up its turn or that leaves
// its body by longjmp. The report goes to standard error, after what the program printed; it names
// the rank, the reason, the rank's last operation, its calls and the line that reproduces the run.

// crash_status is the exit status of a program that a crash report ends: as of abort, in the
// numbers of shells.
inline constexpr int crash_status = 134;

// CrashWatch reports, in its scope, signals that end the program on the calling thread while a rank
// of the run is active there: SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. A stack that overflows
// ends the program with crash_status. After the report of another signal, the earlier handler gets
// it. A rank that calls std::exit or std::quick_exit ends the program with crash_status too. Under
// a sanitizer signals are left to the sanitizer. Handlers belong to the process: the first scope
// installs them, and they stay. Scopes nest, as Worlds do.
class CrashWatch {
 public:
  // ranks_are_fibers says that the run's ranks have other stacks than the thread.
  CrashWatch(const ReportedRun& run, bool ranks_are_fibers);
  ~CrashWatch();
  CrashWatch(const CrashWatch&) = delete;
  CrashWatch& operator=(const CrashWatch&) = delete;

 private:
  const ReportedRun* outer_;
  bool outer_has_fibers_;
};

// expect_own_stack ends the program with a report if a rank that is a fiber is active on the stack
// of its thread: its body was left by longjmp or setcontext, and the frames of the run may be gone.
void expect_own_stack() noexcept;

// Crash has the reason for which a program ends. The run's rank may be no_rank.
struct Crash {
  const ReportedRun& run;
  RankId rank = no_rank;
  std::string_view where;   // "engine/stack"
  std::string_view reason;  // the text after "rank 3 "
  // Describes all other ranks as well. Not for signal handlers.
  bool tells_of_others = true;
};

// report_crash flushes all output and writes the report.
void report_crash(const Crash& crash, const StackTrace& trace) noexcept;

// end_program writes the report with the caller's calls, and ends the program with crash_status. No
// destructors run.
[[noreturn]] void end_program(const Crash& crash) noexcept;

}  // namespace simmesh
