#include <algorithm>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/engine/run/run.h"
#include "core/engine/shrink_schedule.h"
#include "core/engine/world.h"
#include "python/bindings/bindings.h"
#include "python/bindings/order_search.h"
#include "python/bindings/python_run.h"
#include "python/bindings/python_site.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

// The result of `run`.
struct RunResult {
  std::uint64_t data_hash = 0;
  std::uint64_t schedule_hash = 0;
  std::uint64_t steps = 0;
  std::string choices, schedule;
  bool depends_on_order = false;
  std::optional<std::string> kind;
  std::optional<RankId> rank;
  std::string message, details, report;
  nb::object exception = nb::none();
};

std::string name_of(Failure::Kind kind) {
  switch (kind) {
    case Failure::Kind::error: return "error";
    case Failure::Kind::deadlock: return "deadlock";
    case Failure::Kind::schedule: return "schedule";
    case Failure::Kind::interrupt: return "interrupt";
  }
  return "";
}

nb::object python_exception(const Failure& failure) {
  if (!failure.exception) return nb::none();
  try {
    std::rethrow_exception(failure.exception);
  } catch (const PythonFailure& error) {
    return error.error();
  } catch (...) {
    return nb::none();
  }
}

struct RunArguments {
  nb::callable body;
  WorldOptions options;
  nb::object switched;
  nb::object explain;
  // The call that runs the program again; the core's own line is for its command.
  std::optional<std::string> reproduce;
  OrderSearch* search = nullptr;
};

// Adds what the program around the ranks knows about a standstill to its details.
void explain(Failure& failure, const nb::object& callable) {
  if (failure.kind != Failure::Kind::deadlock || callable.is_none()) return;
  std::string text = nb::cast<std::string>(callable());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    failure.details += "\n  " + text.substr(at, end - at);
    at = end + 1;
  }
}

RunResult result_of(Outcome outcome, const RunArguments& arguments, bool is_split) {
  if (outcome.failure) explain(*outcome.failure, arguments.explain);
  RunResult result{outcome.data_hash, outcome.schedule_hash, outcome.steps,
                   choices_to_string(outcome.choices)};
  result.schedule = (is_split ? "choices:split:" : "choices:") + result.choices;
  result.depends_on_order = !outcome.touches.empty();
  if (!outcome.failure) return result;
  const Failure& failure = *outcome.failure;
  result.kind = name_of(failure.kind);
  if (failure.rank != no_rank) result.rank = failure.rank;
  result.message = failure.message;
  result.details = failure.details;
  result.report = report(outcome);
  std::size_t line = result.report.rfind("reproduce: ");
  if (arguments.reproduce && line != std::string::npos)
    result.report.replace(line, std::string::npos, "reproduce: " + *arguments.reproduce);
  result.exception = python_exception(failure);
  return result;
}

// Each rank is a thread of the operating system, which has some ten thousands of them.
constexpr std::size_t ranks_max = 10'000;

void check_ranks(std::size_t ranks) {
  if (ranks < 1 || ranks > ranks_max)
    raise(ErrorKind::value_error, "python/run",
          "ranks: expected 1 to {}, since each is a thread, got {}", ranks_max, ranks);
}

// Everything that a thread could still use if its run is given up.
struct Running {
  PythonRun host;
  nb::callable body;
  World world;

  static WorldOptions hosted(WorldOptions options, PythonRun& host) {
    options.ranks_are_threads = true;
    options.thread_host = &host;
    options.record_choices = true;
    return options;
  }

  explicit Running(const RunArguments& arguments)
      : host({arguments.switched, arguments.options.timeout_seconds, arguments.reproduce,
              arguments.options.ranks}),
        body(arguments.body),
        world(hosted(arguments.options, host)) {}
};

RunResult blocked_result(const PythonRun& host) {
  RunResult result;
  result.kind = "blocked";
  result.rank = host.blocked_rank() % host.ranks();
  result.report = host.blocked_report();
  result.message = result.report.substr(0, result.report.find(';'));
  return result;
}

RunResult run(RunArguments arguments) {
  bool is_split = arguments.search && arguments.search->splits_steps();
  if (arguments.search) arguments.options.schedule = arguments.search->begin_run();
  auto running = std::make_unique<Running>(arguments);
  std::optional<Outcome> outcome;
  try {
    nb::gil_scoped_release released;
    outcome = running->world.run(
        [&running = *running](Rank& rank) { running.host.run_rank(rank, running.body); });
  } catch (const RunGivenUp&) {
    return blocked_result(running.release()->host);
  }
  if (nb::object interruption = running->host.interruption(); interruption.is_valid()) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(interruption.ptr())), interruption.ptr());
    throw nb::python_error();
  }
  if (arguments.search) arguments.search->end_run(*outcome);
  return result_of(*std::move(outcome), arguments, is_split);
}

// The Waitable of a rank that parks.
class Parking final : public Waitable {
 public:
  Parking(std::string what, std::vector<RankId> missing)
      : what_(std::move(what)), missing_(std::move(missing)) {}

  std::string group() const override { return {}; }
  std::string operand(RankId) const override { return {}; }
  std::string peer() const override { return what_; }
  std::vector<RankId> missing_ranks() const override { return missing_; }

 private:
  std::string what_;
  std::vector<RankId> missing_;
};

// Returns a pointer that stays valid, for reports that outlive a call.
const char* kept(const std::string& text) { return site_in(text, 0).file; }

Access::Kind access_kind(const std::string& word) {
  if (word == "change") return Access::Kind::change;
  if (word == "add") return Access::Kind::add;
  if (word == "ask") return Access::Kind::ask;
  raise(ErrorKind::value_error, "python/touch", "expected change, add or ask, got '{}'", word);
}

// A rank that was parked looks again whether it may go on: which others came first can matter.
void look_again(Rank& rank, const Access& access, const CallSite& site) {
  Run& run = rank.run();
  run.touches().mark_all_sensitive();
  if (run.touches().splits_steps())
    run.touch(rank, {&access, 1}, site);
  else
    run.touches().add(rank.id(), access.object);
}

bool park(const std::string& operation, const std::string& what, std::vector<RankId> missing,
          std::optional<double> timeout, std::optional<std::uint64_t> object,
          const std::string& access) {
  Rank& rank = seat_of_run("park");
  Access::Kind kind = access_kind(access);
  PythonRun& host = *PythonRun::of_this_thread();
  CallSite site = python_site();
  Parking parking(what, std::move(missing));
  Activity activity{.operation = kept(operation), .waits_for = &parking, .site = site};
  return without_lock([&] {
    Run& run = rank.run();
    run.begin_operation(rank, activity.operation, site);
    host.parked.push_back(rank.id());
    auto leave = [&] { std::erase(host.parked, rank.id()); };
    bool is_woken = true;
    try {
      if (timeout)
        is_woken = run.block_until(rank, activity, run.seconds() + *timeout);
      else
        run.block(rank, activity);
    } catch (...) {
      leave();
      throw;
    }
    if (!is_woken) leave();
    if (object) look_again(rank, {*object, kind}, site);
    return is_woken;
  });
}

void touch(std::uint64_t object, const std::string& word, bool in_step) {
  Rank& rank = seat_of_run("touch");
  CallSite site = python_site();
  Access access{object, access_kind(word)};
  without_lock([&] {
    Run& run = rank.run();
    run.touches().mark_sensitive(object);
    if (!in_step)
      run.touch(rank, {&access, 1}, site);
    else
      look_again(rank, access, site);
  });
}

bool unpark(RankId other) {
  Rank& rank = seat_of_run("unpark");
  std::vector<RankId>& parked = PythonRun::of_this_thread()->parked;
  auto found = std::find(parked.begin(), parked.end(), other);
  if (found == parked.end()) return false;
  Run& run = rank.run();
  if (!run.wakes(other)) return false;
  parked.erase(found);
  run.wake(other);
  return true;
}

// The function refers to Python objects, and the engine drops it without the interpreter lock.
std::shared_ptr<nb::callable> owned(nb::callable body) {
  return {new nb::callable(std::move(body)), [](nb::callable* gone) {
            nb::gil_scoped_acquire lock;
            delete gone;
          }};
}

RankId start_thread(const std::string& name, nb::callable body) {
  Rank& rank = seat_of_run("start_thread");
  PythonRun& host = *PythonRun::of_this_thread();
  ThreadWork work{.name = name,
                  .body = [&host, kept = owned(std::move(body)), site = python_site()](Rank& seat) {
                    host.run_thread(seat, *kept, site);
                  }};
  return without_lock([&] { return rank.run().start_thread(rank, std::move(work)); });
}

std::optional<std::string> shrink(const std::string& choices, const nb::callable& fails,
                                  std::uint64_t runs_max) {
  auto shrunk = shrink_schedule({.choices = choices_from_string(choices), .runs_max = runs_max},
                                [&](const Schedule& schedule) -> std::optional<Outcome> {
                                  if (!nb::cast<bool>(fails(schedule.name()))) return std::nullopt;
                                  return Outcome();
                                });
  if (!shrunk) return std::nullopt;
  return "guided:" + choices_to_string(shrunk->turns);
}

void bind_rank_ended(nb::module_& module) {
  static PyObject* rank_ended = PyErr_NewExceptionWithDoc(
      "simmesh._core.RankEnded", "Raised in a rank whose run has ended because of another rank.",
      PyExc_BaseException, nullptr);
  module.attr("RankEnded") = nb::borrow(rank_ended);
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const RankEnded&) {
      PyErr_SetString(rank_ended, "the run has ended because of another rank");
    }
  });
}

// An exception refers to the frames that it came through, and these may refer to the outcome:
// Python's collector must see the reference.
int visit_exception(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<RunResult>(self)->exception.ptr());
  return 0;
}

int clear_exception(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<RunResult>(self)->exception = nb::none();
  return 0;
}

void bind_result(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_exception)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear_exception)},
                                {0, nullptr}};
  nb::class_<RunResult>(module, "Outcome", nb::type_slots(slots), "How a run of `run` ended.")
      .def_prop_ro("ok", [](const RunResult& self) { return !self.kind; })
      .def_ro("data_hash", &RunResult::data_hash,
              "Of what the ranks recorded and the results of their collectives.")
      .def_ro("schedule_hash", &RunResult::schedule_hash, "Names the interleaving.")
      .def_ro("steps", &RunResult::steps, "Choices of the schedule.")
      .def_ro("choices", &RunResult::choices,
              "The ranks in the order in which they got the turn, as `choices:` takes them.")
      .def_ro("schedule", &RunResult::schedule,
              "The words with which `run` makes the same run again.")
      .def_ro("depends_on_order", &RunResult::depends_on_order,
              "True if a result could depend on the order of what ranks do with one another.")
      .def_ro("kind", &RunResult::kind,
              "None, or why the run failed: error, deadlock, schedule, interrupt or blocked.")
      .def_ro("rank", &RunResult::rank, "The rank that failed first, in rank order; None for none.")
      .def_ro("message", &RunResult::message)
      .def_ro("details", &RunResult::details, "What every other rank was doing, a line each.")
      .def_ro("report", &RunResult::report,
              "All of it, and the line that reproduces it; empty for a run that didn't fail.")
      .def_ro("exception", &RunResult::exception,
              nb::for_getter(nb::sig("def exception(self, /) -> BaseException | None")),
              "What the rank raised; None for nothing.")
      .def("__repr__", [](const RunResult& self) {
        return self.kind ? fmt::format("<Outcome: {}: {}>", *self.kind, self.message)
                         : fmt::format("<Outcome: ok, data hash {:016x}>", self.data_hash);
      });
}

void bind_run(nb::module_& module) {
  module.def(
      "run",
      [](nb::callable body, std::size_t ranks, const std::string& schedule, std::uint64_t seed,
         const std::string& arithmetic, const std::string& release, double timeout,
         std::string program, nb::object switched, nb::object explain,
         std::optional<std::string> reproduce, OrderSearch* search) {
        check_ranks(ranks);
        return run({std::move(body),
                    {.ranks = ranks,
                     .seed = seed,
                     .schedule = Schedule::parse(schedule),
                     .arithmetic = Arithmetic::parse(arithmetic),
                     .release = parse_release(release),
                     .timeout_seconds = timeout,
                     .program = std::move(program)},
                    std::move(switched),
                    std::move(explain),
                    std::move(reproduce),
                    search});
      },
      nb::arg("body"), nb::kw_only(), nb::arg("ranks"), nb::arg("schedule") = "fifo",
      nb::arg("seed") = 0, nb::arg("arithmetic") = "canonical", nb::arg("release") = "2.15",
      nb::arg("timeout") = 60.0, nb::arg("program") = "simmesh",
      nb::arg("switched").none() = nb::none(), nb::arg("explain").none() = nb::none(),
      nb::arg("reproduce").none() = nb::none(), nb::arg("search").none() = nb::none(),
      "Runs body(rank) on every rank, each on a thread of its own of which one runs at a time, "
      "and\n"
      "returns the outcome; what a body raises is the outcome's. `switched(rank, seat)` is called\n"
      "on a seat's thread whenever the turn comes to it from another. A rank that keeps its turn "
      "for\n"
      "`timeout` seconds ends the run as blocked; 0 is for no limit. `explain()` is called when "
      "no\n"
      "rank can run, and returns lines for the report, which ends with how to `reproduce` the "
      "failure.\n"
      "With a `search` its next class is run, whatever the schedule.");
}

void bind_threads(nb::module_& module) {
  module.def("start_thread", start_thread, nb::arg("name"), nb::arg("body"),
             "Starts a thread of this rank, which calls the body when the schedule chooses it.\n"
             "Returns its seat.");
  module.def(
      "call_place",
      [] {
        CallSite site = python_site();
        return std::pair(std::string(site.file), site.line);
      },
      "The file and line of the user's call.");
  module.def(
      "set_place_of_thread",
      [](const std::string& file, int line) { set_site_of_thread(site_in(file, line)); },
      nb::arg("file"), nb::arg("line"),
      "Says for which line this thread works, where none of its own calls is a user's.");
  module.def(
      "end_threads",
      [] {
        Rank& rank = seat_of_run("end_threads");
        without_lock([&] { rank.run().end_threads(rank); });
      },
      "Lets RankEnded be raised in the other threads of this rank, where they wait.");
  module.def(
      "others_can_run", [] { return seat_of_run("others_can_run").run().others_can_run(); },
      "True if the schedule could choose another rank or thread now.");
  module.def(
      "next_deadline", [] { return seat_of_run("next_deadline").run().next_deadline(); },
      "The earliest virtual time after the present one for which anybody waits; None for none.");
  module.def(
      "has_ended",
      [] {
        Rank& seat = seat_of_run("has_ended");
        return seat.run().has_ended(seat);
      },
      "True if this thread only unwinds, because its run has ended.");
}

void bind_search(nb::module_& module) {
  nb::class_<OrderSearch>(module, "Search",
                          "A search through the classes of equivalent schedules of a program: each "
                          "call of\n`run` with it runs one class.")
      .def(nb::init<>())
      .def_prop_ro("done", &OrderSearch::is_done, "True once all classes were run.")
      .def_prop_ro("classes", &OrderSearch::classes, "Classes that were run.")
      .def_prop_ro("given_up", &OrderSearch::given_up,
                   "Runs before the search knew that the order of more operations matters.")
      .def_prop_ro("estimate", &OrderSearch::estimate,
                   "How many classes there are; exact once the search is done.")
      .def_prop_ro("data_hash", &OrderSearch::data_hash, "Of the first class.")
      .def_prop_ro("one_data_hash", &OrderSearch::one_data_hash,
                   "True if all classes have the first one's.")
      .def_prop_ro("has_failure", &OrderSearch::has_failure,
                   "True if a class failed or has another data hash.")
      .def_prop_ro("is_failure", &OrderSearch::is_failure,
                   "True if the last run is the failure to report: the one that is reached by the\n"
                   "shortest order of events.")
      .def_prop_ro("depends_on_order", &OrderSearch::depends_on_order,
                   "False if nothing in the first class depends on the order.");
}

void bind_parking(nb::module_& module) {
  module.def(
      "park", park, nb::arg("operation"), nb::arg("what"),
      nb::arg("missing") = std::vector<RankId>(), nb::arg("timeout").none() = nb::none(),
      nb::arg("object").none() = nb::none(), nb::arg("access") = "change",
      "Blocks the thread until another one unparks its seat. Returns False where the\n"
      "timeout, in seconds of virtual time, came first. The words, and the seats that could\n"
      "end the wait, are for reports. Afterwards the thread looks at the `object`, as for "
      "`touch`.");
  module.def("touch", touch, nb::arg("object"), nb::arg("access") = "change",
             nb::arg("in_step") = false,
             "Lets the schedule choose, and tells that this thread uses an object that others use\n"
             "too, by a number of 64 bits: a `change` depends on every other use of it, two that\n"
             "`add` don't depend on each other, and two that `ask` don't. A use `in_step` is no\n"
             "point of ordinary schedules.");
  module.def("unpark", unpark, nb::arg("seat"),
             "Wakes a seat that is parked. Returns False if it isn't.");
}

}  // namespace

void bind_ranks(nb::module_& module) {
  bind_rank_ended(module);
  bind_search(module);
  bind_result(module);
  bind_run(module);
  module.def(
      "rank", [] { return rank_behind_thread(); },
      "The number of the rank that this thread belongs to; None where it belongs to none.");
  module.def(
      "seat",
      []() -> std::optional<RankId> {
        if (!PythonRun::of_this_thread() || EngineScope::is_open()) return {};
        return this_rank().id();
      },
      "The number of this thread in schedules: that of its rank for the thread of the rank's "
      "body,\n"
      "a higher one for a thread that a rank started; None outside of ranks, and where a rank "
      "can't\n"
      "give up its turn.");
  module.def(
      "yield_now",
      [] {
        Rank& rank = seat_of_run("yield_now");
        CallSite site = python_site();
        without_lock([&] { rank.yield(site); });
      },
      "Lets the schedule choose again between this rank and the others that can run.");
  module.def(
      "sleep",
      [](double seconds) {
        Rank& rank = seat_of_run("sleep");
        CallSite site = python_site();
        without_lock([&] { rank.sleep(seconds, site); });
      },
      nb::arg("seconds"),
      "Suspends the rank for that much virtual time, which passes only when no rank can run.");
  module.def(
      "run_number", [] { return seat_of_run("run_number").run().number(); },
      "Tells the runs of the process apart.");
  module.def(
      "virtual_time", [] { return seat_of_run("virtual_time").seconds(); },
      "Seconds of virtual time since the run began.");
  bind_parking(module);
  module.def(
      "record",
      [](std::uint64_t word) {
        Rank& seat = seat_of_run("record");
        seat.run().record_result(seat, word);
      },
      nb::arg("word"), "Folds 64 bits into the rank's part of the data hash.");
  bind_threads(module);
  module.def(
      "call_site", [] { return to_string(python_site()); },
      "The file and line of the user's call: \"train.py:12\".");
  module.def("internal_files", set_internal_files, nb::arg("prefixes"),
             "Says which files belong to libraries that call on behalf of their user, by the\n"
             "prefixes of their paths: reports name the line in the user's own file.");
  module.def("shrink", shrink, nb::arg("choices"), nb::arg("fails"), nb::arg("runs_max") = 200,
             "Looks for a short schedule that still fails, by delta debugging. `fails` is asked\n"
             "with schedules in the words of `run`. Returns the shortest that failed, None if the\n"
             "choices didn't.");
}

}  // namespace simmesh::python
