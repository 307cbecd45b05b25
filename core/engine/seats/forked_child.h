#pragma once

#include <exception>

namespace simmesh {

// ForkedChild knows whether this process was forked by a rank that has other ranks on other
// threads. A fork copies the thread that calls it alone, so nobody is there for whom the child
// could wait: its operations raise, and it ends with the rank's body. A child of a world of fibers
// on one thread has all of its ranks, and is none.
class ForkedChild {
 public:
  // RankThread marks a thread that runs ranks beside other threads, while it exists.
  class RankThread {
   public:
    RankThread();
    ~RankThread();
    RankThread(const RankThread&) = delete;
    RankThread& operator=(const RankThread&) = delete;
  };

  // OwnRun is a run that the child itself begins, while it exists: its ranks are there.
  class OwnRun {
   public:
    OwnRun();
    ~OwnRun();
    OwnRun(const OwnRun&) = delete;
    OwnRun& operator=(const OwnRun&) = delete;

   private:
    bool before_;
  };

  // refuse raises a RuntimeError in such a child.
  static void refuse();

  // end ends such a child whose rank's body has ended: with status 0, or 1 and the text of its
  // exception.
  static void end(const std::exception_ptr& exception);
};

}  // namespace simmesh
