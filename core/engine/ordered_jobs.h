#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/check/start_threads.h"
#include "core/engine/reports/interrupt.h"

namespace simmesh {

// OrderedJobs has the number of results, and the number of threads that make them.
struct OrderedJobs {
  std::uint64_t count = 0;
  std::size_t threads = 1;
  // The function is asked on the calling thread before each result is taken; false ends everything.
  std::function<bool()> goes_on = nullptr;
};

// run_ordered makes the results number 0, 1, ..., count - 1 side by side, and passes them to `take`
// one after another, in the order of their numbers, on the calling thread. So the calls of take
// don't depend on the number of threads.
//
// make_worker() is called once on each thread, and the worker it returns makes results: worker(i).
// take(i, result) returns false to stop: later results are then dropped. Results after an Interrupt
// are dropped too, and goes_on hears of one. An exception of a worker is raised when its number
// comes. With one thread everything runs on the calling one.
//
//   std::vector<std::uint64_t> squares;
//   run_ordered<std::uint64_t>({.count = 100, .threads = 4},
//                              [] { return [](std::uint64_t i) { return i * i; }; },
//                              [&](std::uint64_t, std::uint64_t square) {
//                                squares.push_back(square);
//                                return true;
//                              });
template <class Result, class MakeWorker, class Take>
void run_ordered(const OrderedJobs& jobs, const MakeWorker& make_worker, const Take& take);

// OrderedResults is shared by the threads of run_ordered: it has the numbers that are begun and
// made, and the last one that was taken. Numbers far ahead of that one aren't begun, to bound
// memory.
template <class Result>
class OrderedResults {
 public:
  OrderedResults(std::uint64_t count, std::uint64_t ahead_max)
      : count_(count), ahead_max_(ahead_max) {}

  // next returns a number to make; nullopt if there is nothing left to do.
  std::optional<std::uint64_t> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock,
                  [&] { return stopped_ || begun_ == count_ || begun_ < taken_ + ahead_max_; });
    if (stopped_ || begun_ == count_) return std::nullopt;
    return begun_++;
  }

  void put(std::uint64_t number, std::optional<Result> result, std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    made_.emplace(number, std::pair(std::move(result), std::move(error)));
    changed_.notify_all();
  }

  // take waits for a number's result, which is the one after the last taken.
  Result take(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return made_.count(number) > 0; });
    auto [result, error] = std::move(made_.extract(number).mapped());
    taken_ = number + 1;
    changed_.notify_all();
    if (error) std::rethrow_exception(error);
    return std::move(*result);
  }

  void stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_;
  std::uint64_t ahead_max_;
  std::uint64_t begun_ = 0;
  std::uint64_t taken_ = 0;
  bool stopped_ = false;
  std::map<std::uint64_t, std::pair<std::optional<Result>, std::exception_ptr>> made_;
};

template <class Result, class MakeWorker, class Take>
void run_ordered(const OrderedJobs& jobs, const MakeWorker& make_worker, const Take& take) {
  auto goes_on = [&] { return !jobs.goes_on || jobs.goes_on(); };
  // A result that was made meanwhile may come from a run that was cut off.
  auto is_interrupted = [&] { return Interrupt::requested() && (goes_on(), true); };
  if (jobs.threads <= 1 || jobs.count <= 1) {
    if (jobs.count == 0) return;
    auto worker = make_worker();
    for (std::uint64_t i = 0; i < jobs.count && goes_on(); ++i) {
      Result result = worker(i);
      if (is_interrupted() || !take(i, std::move(result))) return;
    }
    return;
  }
  OrderedResults<Result> results(jobs.count, 16 * jobs.threads);
  std::function<void(std::size_t)> work = [&](std::size_t) {
    std::optional<decltype(make_worker())> worker;
    while (auto number = results.next()) {
      std::optional<Result> result;
      std::exception_ptr error;
      try {
        if (!worker) worker.emplace(make_worker());
        result.emplace((*worker)(*number));
      } catch (...) {
        error = std::current_exception();
      }
      results.put(*number, std::move(result), std::move(error));
    }
  };
  std::vector<std::jthread> threads;
  struct Stop {
    OrderedResults<Result>& results;
    ~Stop() { results.stop(); }
  } stop{results};
  std::size_t count = std::size_t(std::min<std::uint64_t>(jobs.threads, jobs.count));
  threads = start_threads({.where = "engine/jobs", .count = count}, work);
  for (std::uint64_t i = 0; i < jobs.count && goes_on(); ++i) {
    Result result = results.take(i);
    if (is_interrupted() || !take(i, std::move(result))) break;
  }
}

}  // namespace simmesh
