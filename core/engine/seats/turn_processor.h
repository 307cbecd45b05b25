#pragma once

#include <pthread.h>
#include <sched.h>

namespace simmesh {

// TurnProcessor keeps the turn of threads on the processor where it is. Linux wakes a thread on an
// idle processor, which has to wake up first and whose caches are cold; ranks on threads took up to
// ten times as long to pass their turn. A thread is held only until it has woken up. Then it may
// run on every processor of the thread that made the TurnProcessor, and so may the threads and
// processes that it starts.
class TurnProcessor {
 public:
  TurnProcessor();

  // hold lets a waiting thread wake up on the caller's processor.
  void hold(pthread_t thread) const;

  // let_go undoes hold, for the calling thread.
  void let_go() const;

 private:
  cpu_set_t allowed_;
  bool is_known_;  // what the system allows
  bool has_choice_;
};

}  // namespace simmesh
