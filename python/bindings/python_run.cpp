#include "python/bindings/python_run.h"

#include <algorithm>
#include <csignal>
#include <cxxabi.h>
#include <nanobind/stl/string.h>
#include <pthread.h>
#include <unistd.h>

#include "core/check/check.h"
#include "core/engine/reports/reported_run.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "python/bindings/python_site.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

thread_local PythonRun* run_of_thread = nullptr;

// State that Python and its libraries keep for a thread stays for its next runs: the pool's threads
// never end.
void keep_thread_state() {
  thread_local bool has_state = false;
  if (has_state) return;
  has_state = true;
  PyGILState_Ensure();
  PyEval_SaveThread();
}

// The child of a fork has none of the other ranks, and is no rank itself: it is told so at once,
// instead of waiting for them. It takes the signals that a rank leaves to the main thread.
void be_no_rank_in_children() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    if (!run_of_thread) return;
    run_of_thread = nullptr;
    Rank::set_active(nullptr);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
  });
  SIMMESH_CHECK(registered == 0, "no handler for forks");
}

// Returns a text of Python as UTF-8. What that can't say, such as lone surrogates, is escaped.
std::string text_of(nb::handle text) {
  auto bytes =
      nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {bytes.c_str(), bytes.size()};
}

nb::object rank_ended_class() { return nb::module_::import_("simmesh._core").attr("RankEnded"); }

}  // namespace

PythonRun* PythonRun::of_this_thread() { return run_of_thread; }

void PythonRun::came_back() {
  Rank& seat = this_rank();
  if (last_ == seat.id()) return;
  last_ = seat.id();
  EngineScope inside;
  if (!switched_.is_none()) switched_(rank_behind(seat.world().options(), seat.id()), seat.id());
}

void PythonRun::run_rank(Rank& rank, const nb::callable& body) {
  keep_thread_state();
  be_no_rank_in_children();
  nb::gil_scoped_acquire lock;
  call(rank, [&] { body(rank.id()); });
}

// The thread's state of Python is fresh, and ends with the scope.
void PythonRun::run_thread(Rank& seat, const nb::callable& body, const CallSite& started_at) {
  nb::gil_scoped_acquire lock;
  set_site_of_thread(started_at);
  call(seat, [&] { body(); });
}

void PythonRun::call(Rank& seat, const std::function<void()>& body) {
  if (thread_idents_.size() <= seat.id()) thread_idents_.resize(seat.id() + 1);
  thread_idents_[seat.id()] = PyThread_get_thread_ident();
  PythonRun* outer = std::exchange(run_of_thread, this);
  auto leave = [&] { run_of_thread = outer; };
  try {
    came_back();
    body();
    leave();
  } catch (nb::python_error& error) {
    leave();
    if (error.matches(rank_ended_class())) throw RankEnded();
    throw PythonFailure(std::move(error));
  } catch (abi::__forced_unwind&) {
    // Python ends, and with it a thread that asks for the interpreter lock: one of a run that was
    // given up. Nothing of Python may be touched any more, by destructors neither.
    for (;;) pause();
  } catch (...) {
    leave();
    throw;
  }
}

std::string PythonRun::stack_of(RankId rank) const {
  auto frames = nb::cast<nb::dict>(nb::module_::import_("sys").attr("_current_frames")());
  nb::int_ ident(thread_idents_.at(rank));
  if (!frames.contains(ident)) return "  (its Python calls are unknown)\n";
  auto lines =
      nb::cast<nb::list>(nb::module_::import_("traceback").attr("format_stack")(frames[ident]));
  std::string text;
  for (nb::handle line : lines) text += text_of(line);
  return text;
}

// A rank that computes when the run is interrupted ends at its current place in its Python code.
ThreadHost::Verdict PythonRun::look(const Turn& turn) {
  nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) {
    interruption_ = nb::borrow(nb::python_error().value());
    if (turn.rank != no_rank)
      PyThreadState_SetAsyncExc(thread_idents_.at(turn.rank), rank_ended_class().ptr());
    return Verdict::interrupt;
  }
  bool is_over = timeout_seconds_ > 0 && turn.kept_for.count() >= timeout_seconds_;
  if (turn.rank == no_rank || !is_over) return Verdict::go_on;
  blocked_rank_ = turn.rank;
  blocked_report_ =
      fmt::format("{} has not given up its turn for {:g} s of wall time; it is in\n{}",
                  turn.run.name_of_rank(turn.rank), timeout_seconds_, stack_of(turn.rank)) +
      turn.run.describe_ranks(turn.rank) + turn.run.reproduce_line();
  return Verdict::give_up;
}

PythonFailure::PythonFailure(nb::python_error error)
    : error_(std::make_shared<nb::python_error>(std::move(error))),
      text_(std::make_shared<std::string>()) {
  nb::object format = nb::module_::import_("traceback").attr("format_exception_only");
  auto lines = nb::cast<nb::list>(format(error_->type(), error_->value()));
  for (nb::handle line : lines) *text_ += text_of(line);
  while (!text_->empty() && text_->back() == '\n') text_->pop_back();
  *text_ += ", at " + to_string(site_of_traceback(error_->traceback()));
}

PythonFailure::~PythonFailure() = default;

nb::object PythonFailure::error() const { return nb::borrow(error_->value()); }

Rank& seat_of_run(const char* function) {
  if (!PythonRun::of_this_thread() || !in_rank())
    raise(ErrorKind::runtime_error, "python",
          "{}: expected to be called by a rank, or by a thread that a rank started", function);
  return this_rank();
}

std::optional<RankId> rank_behind_thread() {
  if (!PythonRun::of_this_thread()) return {};
  return rank_behind(this_rank().world().options(), this_rank().id());
}

Rank& rank_of_run(const char* function) {
  if (!PythonRun::of_this_thread() || !in_rank() ||
      RankThreads::is_thread(this_rank().world().options(), this_rank().id()))
    raise(ErrorKind::runtime_error, "python",
          "{}: expected to be called by a rank, on the thread of its body", function);
  return this_rank();
}

}  // namespace simmesh::python
