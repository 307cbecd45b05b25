#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

#include "core/check/error.h"
#include "python/bindings/bindings.h"

// glibc has it since 2.34: a fork that calls no handlers of pthread_atfork.
extern "C" pid_t _Fork(void) __attribute__((weak));  // NOLINT(bugprone-reserved-identifier)

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// PyTorch's handler forbids backward passes in the child of a process that has made one, because of
// threads for devices. A process without devices has none of these threads.
pid_t forked(bool without_handlers) {
  if (without_handlers && _Fork) return _Fork();
  return fork();
}

// The signal comes when the thread that forked ends, so a parent that is gone by now is looked for.
void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

[[noreturn]] void raise_system_error(int error) {
  errno = error;
  PyErr_SetFromErrno(PyExc_OSError);
  throw nb::python_error();
}

// Until the child has asked for the signal, the end of this thread would not reach it.
class Readiness {
 public:
  Readiness() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) raise_system_error(errno);
  }
  ~Readiness() {
    for (int end : ends_) close(end);
  }
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  void tell() const {
    char ready = 1;
    while (write(ends_[1], &ready, 1) < 0 && errno == EINTR) {
    }
  }
  void wait() {
    close(std::exchange(ends_[1], -1));  // or the child's early end would not be noticed
    char ready = 0;
    while (read(ends_[0], &ready, 1) < 0 && errno == EINTR) {
    }
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

pid_t fork_process(bool without_handlers) {
  std::fflush(nullptr);  // or the child would write it again
  Readiness readiness;
  pid_t parent = getpid();
  PyOS_BeforeFork();
  pid_t child = forked(without_handlers);
  int error = errno;
  if (child == 0) {
    end_with_parent(parent);
    readiness.tell();
    PyOS_AfterFork_Child();
    return child;
  }
  PyOS_AfterFork_Parent();
  if (child < 0) raise_system_error(error);
  readiness.wait();
  return child;
}

}  // namespace

void bind_processes(nb::module_& module) {
  module.def("fork_process", fork_process, nb::arg("without_handlers"),
             "Forks this process, and returns 0 in the child and the child's id here, as os.fork\n"
             "does. The child is killed when the thread that calls this ends. Without the handlers "
             "of\n"
             "C libraries, where the system can, the child may make backward passes though this\n"
             "process has made one. Raises OSError.");
}

}  // namespace simmesh::python
