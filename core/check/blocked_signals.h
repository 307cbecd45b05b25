#pragma once

#include <csignal>
#include <initializer_list>
#include <pthread.h>

namespace simmesh {

// BlockedSignals is a scope in which the calling thread, and so each thread that it starts, leaves
// all signals but the given ones to the others.
class BlockedSignals {
 public:
  explicit BlockedSignals(std::initializer_list<int> taken = {}) {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int signal : taken) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace simmesh
