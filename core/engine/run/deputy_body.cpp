#include "core/engine/run/run.h"

namespace simmesh {

namespace {

// Returns the error of the work. The captures of the work are destroyed before anybody hears of its
// end, and also if the run ends meanwhile.
std::exception_ptr error_of(std::function<void()>& work) {
  std::exception_ptr error;
  try {
    work();
  } catch (const RankEnded&) {
    work = nullptr;
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  work = nullptr;
  return error;
}

}  // namespace

void serve_as_deputy(Run& run, Rank& deputy) {
  for (;;) {
    run.take_turn(deputy);
    Deputies::Work work = run.deputies().begin(deputy.id());
    if (!work) {
      run.rest(deputy);
      continue;
    }
    run.touches().follow(deputy.id(), work->given());
    std::exception_ptr error = error_of(work->work);
    run.take_turn(deputy);
    run.touch_in_step(deputy, {work->object, Access::Kind::add}, CallSite());
    run.touches().publish(deputy.id(), work->object);
    RankId waiting = run.deputies().end(work, std::move(error));
    if (waiting != no_rank) run.wake(waiting);
  }
}

}  // namespace simmesh
