#include "checkpoint/zero_cost/writer.h"

#include <utility>

#include "checkpoint/zero_cost/checkpoint_streams.h"
#include "core/check/error.h"
#include "core/engine/deputy.h"
#include "core/engine/ranks/local_state.h"
#include "core/engine/world.h"

namespace simmesh::checkpoint {

// State keeps the report apart from the task, which gives its result only once.
struct AsyncSave::State {
  DeputyTask task;
  std::shared_ptr<SaveReport> report;
  StreamEvent copied;
  double write_gb_s;
  StreamEvent written = {};
  bool is_waited_for = false;

  void end(CallSite site) {
    if (std::exchange(is_waited_for, true)) return task.wait(site);
    task.wait(site);
    if (report->tensor_bytes > 0)
      written = CheckpointStreams::of_this_rank().write(copied, double(report->most_of_a_rank),
                                                        write_gb_s);
  }
};

bool AsyncSave::done(CallSite site) const { return state_->task.is_done(site); }

SaveReport AsyncSave::wait(CallSite site) const {
  state_->end(site);
  Stream::current().wait(state_->written);
  return *state_->report;
}

Writer& Writer::of_this_rank() { return local_state<Writer>(); }

void Writer::check(const BackgroundOptions& options) {
  if (options.in_flight < 1)
    raise(ErrorKind::value_error, "checkpoint/async_save",
          "expected at least one save in flight, got {}", options.in_flight);
  if (!(options.write_gb_s > 0))
    raise(ErrorKind::value_error, "checkpoint/async_save", "expected a write_gb_s above 0, got {}",
          options.write_gb_s);
}

void Writer::raise_if_failed() {
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    AsyncSave save = under_way_[i];
    if (!save.state_->task.has_failed()) continue;
    under_way_.erase(under_way_.begin() + std::ptrdiff_t(i));
    // Its error was raised in wait.
    if (!save.state_->is_waited_for) return save.state_->end(CallSite::here());
    --i;
  }
}

void Writer::make_room(std::size_t in_flight) {
  raise_if_failed();
  while (under_way_.size() >= in_flight) {
    AsyncSave oldest = under_way_.front();
    under_way_.pop_front();
    if (!oldest.state_->is_waited_for) oldest.state_->end(CallSite::here());
    Stream::current().wait(oldest.state_->written);
  }
}

AsyncSave Writer::start(Job job) {
  Deputy deputy = Deputy::of_this_rank(writing_deputy);
  auto report = std::make_shared<SaveReport>();
  auto work = [work = std::move(job.work), what = std::move(job.what), report] {
    try {
      *report = work();
    } catch (const Error& error) {
      const Rank& writer = this_rank();
      throw Error(
          error.kind(), "checkpoint/async_save",
          fmt::format("the writer of rank {} failed at {}: {}",
                      rank_behind(this_rank().world().options(), writer.id()), what, error.what()));
    }
  };
  under_way_.push_back(AsyncSave(std::make_shared<AsyncSave::State>(
      AsyncSave::State{deputy.start(std::move(work)), report, job.copied, job.write_gb_s})));
  return under_way_.back();
}

}  // namespace simmesh::checkpoint
