#pragma once

#include <functional>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/check/call_site.h"
#include "core/engine/ranks/rank.h"
#include "core/engine/seats/thread_host.h"

namespace simmesh::python {

// PythonRun is a run whose ranks are Python functions on threads. All of it except look is used
// only by the thread with both the turn and the interpreter lock.
class PythonRun final : public ThreadHost {
 public:
  // The callable `switched`, or None, is called with the numbers of a rank and of its seat, on the
  // seat's thread, when the turn comes to it and another seat had it before. Without a timeout of
  // more than 0 s a rank may keep its turn. Reports end with the call that reproduces the run, if
  // it is known.
  struct Options {
    nanobind::object switched;
    double timeout_seconds;
    std::optional<std::string> reproduce;
    std::size_t ranks;
  };
  explicit PythonRun(Options options)
      : switched_(std::move(options.switched)),
        timeout_seconds_(options.timeout_seconds),
        reproduce_(std::move(options.reproduce)),
        ranks_(options.ranks) {}

  // of_this_thread returns the run in which the thread is a rank, null outside any.
  static PythonRun* of_this_thread();

  // run_rank calls the body on the thread of a rank. Raises a PythonFailure, and RankEnded.
  void run_rank(Rank& rank, const nanobind::callable& body);

  // run_thread calls the body on a thread that a rank started at that place. Raises what run_rank
  // raises.
  void run_thread(Rank& seat, const nanobind::callable& body, const CallSite& started_at);

  // came_back tells that the rank of this thread continues and holds the interpreter lock.
  void came_back();

  Verdict look(const Turn& turn) override;
  std::string reproduce_line() const override {
    return reproduce_ ? "reproduce: " + *reproduce_ : "";
  }
  // interruption returns what stopped the run: an exception of a signal's handler, such as
  // KeyboardInterrupt, and the calls of the rank that never gave up its turn.
  const nanobind::object& interruption() const { return interruption_; }
  const std::string& blocked_report() const { return blocked_report_; }
  RankId blocked_rank() const { return blocked_rank_; }
  std::size_t ranks() const { return ranks_; }

  // parked returns which seats wait for unpark.
  std::vector<RankId> parked;

 private:
  void call(Rank& seat, const std::function<void()>& body);
  std::string stack_of(RankId rank) const;

  nanobind::object switched_;
  double timeout_seconds_;
  std::optional<std::string> reproduce_;
  std::size_t ranks_;
  RankId last_ = no_rank;
  std::vector<unsigned long> thread_idents_;  // Python's, by seat
  nanobind::object interruption_;
  std::string blocked_report_;
  RankId blocked_rank_ = no_rank;
};

// PythonFailure is an exception that a rank's body didn't catch.
class PythonFailure : public std::exception {
 public:
  explicit PythonFailure(nanobind::python_error error);
  ~PythonFailure() override;
  PythonFailure(const PythonFailure& other) = default;

  // what returns "ValueError: the text, at train.py:12".
  const char* what() const noexcept override { return text_->c_str(); }
  // error returns the exception itself. The caller holds the interpreter lock.
  nanobind::object error() const;

 private:
  std::shared_ptr<nanobind::python_error> error_;
  std::shared_ptr<std::string> text_;
};

// EngineScope is a scope in which this thread is inside of the engine. Python code that runs there,
// such as a finalizer, can't give up the turn.
class EngineScope {
 public:
  EngineScope() : before_(is_open_) { is_open_ = true; }
  ~EngineScope() { is_open_ = before_; }
  EngineScope(const EngineScope&) = delete;
  EngineScope& operator=(const EngineScope&) = delete;

  static bool is_open() { return is_open_; }

 private:
  static constinit inline thread_local bool is_open_ = false;
  bool before_;
};

// without_lock releases the interpreter lock while f runs, which may block the rank of this thread:
// a rank of a PythonRun.
template <class F>
auto without_lock(F&& f) {
  PythonRun& run = *PythonRun::of_this_thread();
  auto released = [&] {
    EngineScope inside;
    nanobind::gil_scoped_release scope;
    return f();
  };
  try {
    if constexpr (std::is_void_v<decltype(f())>) {
      released();
      run.came_back();
    } else {
      auto result = released();
      run.came_back();
      return result;
    }
  } catch (...) {
    // Handlers and `finally` blocks are the rank's, too.
    run.came_back();
    throw;
  }
}

// rank_of_run returns the rank of this thread. Raises a RuntimeError for a thread that is none,
// also for one that a rank started. seat_of_run takes such threads too, and returns their seats.
Rank& rank_of_run(const char* function);
Rank& seat_of_run(const char* function);
// rank_behind_thread returns the number of the rank that this thread belongs to; nothing where it
// belongs to none.
std::optional<RankId> rank_behind_thread();

}  // namespace simmesh::python
