#include "verify/zero/schedule_replay.h"

#include <algorithm>
#include <set>

#include "core/optim/sgd.h"
#include "core/tensor/formula.h"
#include "core/tensor/known_tensor.h"
#include "verify/case_world.h"
#include "zero/stage3/leaf_modules.h"
#include "zero/stage3/stage3.h"

namespace simmesh {

namespace {

using nlohmann::json;
using zero::Event;
using zero::EventKind;

std::string name_of(const json& event) { return event[0].get<std::string>(); }

const char* letter(zero::Pass pass) { return pass == zero::Pass::forward ? "F" : "B"; }

// Recorder writes the events of one rank in the recorded form.
class Recorder {
 public:
  Recorder(ScheduleEvents& events, bool has_memory) : events_(events), has_memory_(has_memory) {}

  void operator()(const Event& event) {
    std::string mode(to_string(event.mode));
    switch (event.kind) {
      case EventKind::reset:
        return add({"reset", mode, "step", event.step, "order_len", event.order_length});
      case EventKind::enter:
        waited_.clear();
        return add({"fetch_begin", event.step, event.module, letter(event.pass), mode, "navail",
                    event.available});
      case EventKind::fetch: return add({"ag_fetch", event.step, event.params});
      case EventKind::prefetch: return add({"ag_prefetch", event.step, event.params});
      case EventKind::wait: waited_.insert(event.gather); return;
      case EventKind::copy_out: return add_copied(event.bytes);
      case EventKind::entered:
        drop_ambiguous();
        add({"fetch_end", event.step, event.module, "navail", event.available, "qlen",
             event.queue_length});
        return add_bytes("mem", zero::gathered_bytes());
      case EventKind::leave:
        return add({"rel_begin", event.step, event.module, letter(event.pass)});
      case EventKind::release: return add({"release", event.step, event.params[0]});
      case EventKind::left:
        add({"rel_end", event.step, event.module, "navail", event.available});
        return add_bytes("mem", zero::gathered_bytes());
      case EventKind::invalidate: return add({"invalidate", event.step});
      case EventKind::leftovers: return add({"leftovers", event.modules});
      case EventKind::gradient: return add({"grad", event.params[0]});
      case EventKind::gradients_end: return add(json::array({"grad_end"}));
      case EventKind::step: return add(json::array({"release_all"}));
      case EventKind::collective: return add_collective(event);
      case EventKind::blocking: return;  // its collectives are recorded
      case EventKind::external: return;  // written by the driver
    }
  }

 private:
  void add(json event) { events_.push_back(std::move(event)); }

  void add_bytes(const char* name, std::int64_t bytes) {
    if (has_memory_) add({name, bytes});
  }

  void add_collective(const Event& event) {
    json entry = {"coll", std::string(event.name), {event.numel, std::string(event.dtype)}};
    if (!event.ranks.empty()) entry.push_back(event.ranks);
    add(std::move(entry));
  }

  void add_copied(std::int64_t bytes) {
    if (has_memory_) add({"mem_wait", bytes});
  }

  // Where an entry waits for more than one gather, their order means nothing.
  void drop_ambiguous() {
    for (std::size_t i = events_.size(); i-- > 0 && waited_.size() > 1;) {
      if (name_of(events_[i]) == "fetch_begin") break;
      if (name_of(events_[i]) == "mem_wait") events_.erase(events_.begin() + std::ptrdiff_t(i));
    }
  }

  ScheduleEvents& events_;
  bool has_memory_;
  std::set<std::uint64_t> waited_;
};

// The driven part of one rank's replay.
class Driver {
 public:
  Driver(zero::Stage3& stage, ScheduleEvents& events, std::vector<std::string>& wrong)
      : stage_(stage), events_(events), wrong_(wrong) {
    for (std::size_t i = 0; i < stage.params().size(); ++i) {
      const zero::PartitionedParam& param = stage.params()[zero::ParamId(i)];
      originals_.push_back(
          formula(param.shape(), {.rule = Rule::wide, .seed = i + 1, .dtype = param.dtype()}));
    }
  }

  void perform(const json& event) {
    std::string name = name_of(event);
    zero::Coordinator& coordinator = stage_.coordinator();
    if (name == "reset") return coordinator.reset();
    if (name == "fetch_begin") return enter(event);
    if (name == "rel_begin") return coordinator.leave(event[2], pass_of(event[3]));
    if (name == "grad") return stage_.add_gradient(event[1], {});
    if (name == "grad_end") return stage_.end_gradients();
    if (name == "leftovers") return coordinator.end_backward();
    if (name == "release_all") return void(stage_.step(1.0));
    events_.push_back(event);
    if (name == "external") return stage_.register_external(event[1], event[2], event[3]);
    if (name == "unexternal") return stage_.unregister_external(event[1], event[2]);
  }

 private:
  static zero::Pass pass_of(const json& text) {
    return text == "F" ? zero::Pass::forward : zero::Pass::backward;
  }

  // The parameters that a module needs are gathered, bit for bit.
  void enter(const json& event) {
    zero::ModuleId module = event[2];
    stage_.coordinator().enter(module, pass_of(event[3]));
    for (zero::ParamId id : stage_.coordinator().graph().needs(module))
      if (!known_same_bits(stage_.params()[id].leaf().detach(), originals_[std::size_t(id)]))
        wrong_.push_back(fmt::format("step {}: parameter {} was gathered with other elements",
                                     stage_.coordinator().step(), id));
  }

  zero::Stage3& stage_;
  ScheduleEvents& events_;
  std::vector<std::string>& wrong_;
  std::vector<Tensor> originals_;
};

std::unique_ptr<optim::Optimizer> make_sgd(const std::vector<nn::NamedTensor>& masters) {
  std::vector<Tensor> trained;
  for (const auto& [name, master] : masters)
    if (master.requires_grad()) trained.push_back(master);
  return std::make_unique<optim::Sgd>(trained, optim::SgdOptions{.lr = 0.5});
}

void mark_leaves(nn::Module& model, const ScheduleCase& schedule) {
  for (const ScheduleCase::Module& module : schedule.modules)
    if (module.is_leaf) zero::set_z3_leaf_module(model.find(module.name));
}

// The case's numbers, shards, persistence and tiles follow from the model.
std::vector<std::string> layout_differences(zero::Stage3& stage, const ScheduleCase& schedule) {
  std::vector<std::string> wrong;
  auto expect = [&](const std::string& what, const auto& expected, const auto& actual) {
    if (expected != actual)
      wrong.push_back(
          fmt::format("{}: expected {}, got {}", what, value_text(expected), value_text(actual)));
  };
  const auto& modules = stage.index().modules();
  const auto& params = stage.index().params();
  expect("number of modules", schedule.modules.size(), modules.size());
  expect("number of parameters", schedule.params.size(), params.size());
  if (!wrong.empty()) return wrong;
  for (std::size_t i = 0; i < modules.size(); ++i)
    expect(fmt::format("module {}", i), schedule.modules[i].name, modules[i].first);
  for (std::size_t i = 0; i < params.size(); ++i) {
    const ScheduleCase::Param& param = schedule.params[i];
    std::string who = fmt::format("parameter {}", i);
    expect(who, param.name, params[i].name);
    expect(who + ": persistent", param.is_persistent, params[i].is_persistent);
    expect(who + ": shard", param.shard_numel, stage.params()[zero::ParamId(i)].shard_numel());
  }
  std::vector<std::vector<std::int64_t>> tiles;
  if (zero::ShardedOptimizer* optimizer = stage.sharded_optimizer())
    for (const auto& tile : optimizer->tiles()) tiles.emplace_back(tile.begin(), tile.end());
  expect("tiles", schedule.tiles, tiles);
  return wrong;
}

// The recorded rank lists are those of rank 0.
json seen_by(const json& event, std::int64_t rank) {
  if (event[0] != "coll" || event.size() < 4) return event;
  json own = event;
  auto size = std::int64_t(event[3].size());
  for (json& member : own[3]) member = member.get<std::int64_t>() + rank / size * size;
  return own;
}

// Takes the events up to the next driving one. Releases that follow each other are sorted where
// their order isn't defined; that of a trace that is given up is the order of a set in Python.
std::size_t take_produced(const ScheduleEvents& events, std::size_t at, std::int64_t rank,
                          bool sorts, std::vector<std::string>& produced) {
  auto is_release = [&] { return at < events.size() && events[at][0] == "release"; };
  while (at < events.size() && !is_driving(events[at])) {
    auto begin = std::ptrdiff_t(produced.size());
    bool is_run = is_release();
    sorts |= events[at][0] == "invalidate";
    do produced.push_back(seen_by(events[at++], rank).dump());
    while (is_run && is_release());
    if (is_run && sorts) std::sort(produced.begin() + begin, produced.end());
  }
  return at;
}

// DeepSpeed releases the parameters of a module in their order, and those of a leaf module, at a
// reset and at a step in the order of a set in Python.
bool releases_a_set(const json& event, const ScheduleCase& schedule) {
  auto is_leaf = [&](const json& id) { return schedule.modules[id.get<std::size_t>()].is_leaf; };
  if (event[0] == "rel_begin") return is_leaf(event[2]);
  if (event[0] == "leftovers") return std::any_of(event[1].begin(), event[1].end(), is_leaf);
  return true;
}

// Compares one rank's events with the recorded ones, up to the first difference.
void expect_events(CaseReport& report, const ScheduleEvents& expected, const ScheduleEvents& actual,
                   std::int64_t rank, const ScheduleCase& schedule) {
  std::size_t at = 0, own = 0;
  std::string last = "the start";
  while (at < expected.size() || own < actual.size()) {
    std::vector<std::string> wanted, got;
    bool sorts = at > 0 && releases_a_set(expected[at - 1], schedule);
    at = take_produced(expected, at, rank, sorts, wanted);
    own = take_produced(actual, own, 0, sorts, got);
    if (!report.expect_equal(fmt::format("rank {}: after {}", rank, last), wanted, got)) return;
    if (at == expected.size() && own == actual.size()) return;
    std::string next = at < expected.size() ? expected[at].dump() : "the end";
    std::string own_next = own < actual.size() ? actual[own].dump() : "the end";
    last = fmt::format("{} (event {})", next, at);
    if (!report.expect_equal(fmt::format("rank {}: event {}", rank, at), next, own_next)) return;
    ++at;
    ++own;
  }
}

}  // namespace

Schema schedule_events_schema(bool has_memory) {
  using namespace schema;
  Schema count = integer({.min = 0}), figure = integer(), ids = list(count);
  Schema mode = word({"INVALID", "RECORD", "COMPLETE"}), pass = word({"F", "B"});
  auto label = [](const char* text) { return word({text}); };
  Schema kind =
      word({"broadcast", "all_gather_into_tensor", "all_reduce", "reduce_scatter_tensor"});
  std::vector<TupleChoice> choices = {
      {"ITER", {count}},
      {"reset", {mode, label("step"), count, label("order_len"), count}},
      {"fetch_begin", {count, count, pass, mode, label("navail"), figure}},
      {"fetch_end", {count, count, label("navail"), figure, label("qlen"), count}},
      {"ag_fetch", {count, ids}},
      {"ag_prefetch", {count, ids}},
      {"rel_begin", {count, count, pass}},
      {"release", {count, count}},
      {"rel_end", {count, count, label("navail"), figure}},
      {"invalidate", {count}},
      {"external", {count, count, flag()}},
      {"unexternal", {count, count}},
      {"grad", {count}},
      {"grad_end", {}},
      {"leftovers", {ids}},
      {"STEP", {}},
      {"release_all", {}},
      {"coll", {kind, tuple({count, text()}), list(count, {.min = 1})}, 1},
      {"EXCEPTION", {text(), any_text()}},
      {"END", {}}};
  if (has_memory) {
    choices.push_back({"mem", {count}});
    choices.push_back({"mem_wait", {count}});
  }
  return list(tuple_by(std::move(choices)));
}

ScheduleReplay::ScheduleReplay(const RecordedCase& recorded, bool has_memory)
    : schedule_(read_schedule(recorded["meta"])), has_memory_(has_memory) {
  auto modules = std::int64_t(schedule_.modules.size());
  auto params = std::int64_t(schedule_.params.size());
  for (const CaseField& event : recorded["ev"].items()) {
    std::vector<CaseField> entries = event.items();
    std::string name = entries[0].text();
    auto check = [&](std::size_t entry, std::int64_t count) {
      entries[entry].integer({.min = 0, .max = count - 1});
    };
    if (name == "fetch_begin" || name == "rel_begin") check(2, modules);
    if (name == "grad") check(1, params);
    if (name == "leftovers")
      for (const CaseField& id : entries[1].items()) id.integer({.min = 0, .max = modules - 1});
    if (name == "external" || name == "unexternal") {
      check(1, modules);
      check(2, params);
    }
    expected_.push_back(event.value());
  }
}

void ScheduleReplay::drive(std::size_t rank) {
  std::unique_ptr<nn::Module> model = schedule_.build();
  mark_leaves(*model, schedule_);
  zero::Config config{.fp16 = {.enabled = schedule_.dtype == DType::float16},
                      .zero_optimization = schedule_.zero};
  zero::MakeOptimizer make_optimizer;
  if (schedule_.has_optimizer) make_optimizer = make_sgd;
  ProcessGroup world = ProcessGroup::world();
  zero::Stage3 stage({*model, make_optimizer, config, world}, zero::DeepSpeedFaults::all());
  wrong_[rank] = layout_differences(stage, schedule_);
  if (!wrong_[rank].empty()) return;
  ScheduleEvents& events = of_rank_[rank];
  Recorder recorder(events, has_memory_);
  zero::ObserverScope observer([&recorder](const Event& event) { recorder(event); });
  Driver driver(stage, events, wrong_[rank]);
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    if (!is_driving(expected_[i])) continue;
    auto next =
        std::find_if(expected_.begin() + std::ptrdiff_t(i) + 1, expected_.end(), is_driving);
    bool may_fail = next != expected_.end() && name_of(*next) == "EXCEPTION";
    try {
      driver.perform(expected_[i]);
    } catch (const Error& error) {
      if (!may_fail) throw;
      events.push_back(*next);
      return;
    }
  }
}

void ScheduleReplay::run(const VerifyOptions& options, CaseReport& report) {
  check_schedule_program(schedule_, expected_, report);
  if (report.failed()) return;
  auto ranks = std::size_t(schedule_.world);
  of_rank_.assign(ranks, {});
  wrong_.assign(ranks, {});
  World world(world_options(options, schedule_.world));
  auto error = run_case(
      world, [&](Rank& rank) { drive(rank.id()); }, report);
  if (error) report.mismatch(fmt::format("expected a schedule, got {}", error->what()));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const std::string& text : wrong_[rank])
      report.mismatch(fmt::format("rank {}: {}", rank, text));
    if (wrong_[rank].empty())
      expect_events(report, expected_, of_rank_[rank], std::int64_t(rank), schedule_);
    if (report.failed()) return;
  }
}

}  // namespace simmesh
