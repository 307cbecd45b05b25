#include "core/engine/seats/forked_child.h"

#include <csignal>
#include <cstdint>
#include <fmt/format.h>
#include <pthread.h>
#include <string>
#include <unistd.h>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/engine/reports/outcome.h"

namespace simmesh {

namespace {

thread_local std::int64_t rank_threads = 0;
// The child has the thread that forked it, and the threads of its own runs.
thread_local bool is_forked_child = false;

// Runs in the child of each fork, which has this thread alone. It takes the signals that a rank's
// thread leaves to the main thread.
void look_at_child() {
  if (rank_threads == 0) return;
  is_forked_child = true;
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

ForkedChild::RankThread::RankThread() {
  static const int registered = pthread_atfork(nullptr, nullptr, look_at_child);
  SIMMESH_CHECK(registered == 0, "no handler for forks");
  ++rank_threads;
}

ForkedChild::RankThread::~RankThread() { --rank_threads; }

ForkedChild::OwnRun::OwnRun() : before_(is_forked_child) { is_forked_child = false; }

ForkedChild::OwnRun::~OwnRun() { is_forked_child = before_; }

void ForkedChild::refuse() {
  if (!is_forked_child) [[likely]]
    return;
  raise(ErrorKind::runtime_error, "engine/fork",
        "expected a rank, got the child of a fork in a rank, which has none of the other ranks");
}

void ForkedChild::end(const std::exception_ptr& exception) {
  if (!is_forked_child) return;
  if (!exception) _exit(0);
  std::string text = fmt::format("simmesh: a child of a rank ended: {}\n", message_of(exception));
  [[maybe_unused]] auto written = write(STDERR_FILENO, text.data(), text.size());
  _exit(1);
}

}  // namespace simmesh
