#include "checkpoint/zero_cost/zero_cost_saver.h"

#include <algorithm>
#include <utility>

#include "checkpoint/catalog/training_state.h"
#include "checkpoint/zero_cost/checkpoint_streams.h"
#include "checkpoint/zero_cost/staged_state.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/deputy.h"

namespace simmesh::checkpoint {

namespace {

// Returns the part of a state that averages need.
StateDict averaged_entries(const StateDict& state) {
  StateDict averaged;
  for (const StateDict::Entry& entry : state.entries()) {
    if (!EmaState::averaged_name(entry)) continue;
    if (const auto* shard = std::get_if<FlatShard>(&entry.value))
      averaged.add(entry.name, *shard);
    else
      averaged.add(entry.name, std::get<Tensor>(entry.value));
  }
  return averaged;
}

std::int64_t bytes_of(const std::vector<CopyRange>& ranges) {
  std::int64_t bytes = 0;
  for (const CopyRange& range : ranges) bytes += range.end - range.begin;
  return bytes;
}

}  // namespace

std::vector<std::string> buffer_names(nn::Module& model) {
  std::vector<std::string> names;
  for (const auto& [name, buffer] : named_buffers(model)) names.push_back("model." + name);
  return names;
}

// Copying is the state of a saver, which its hooks on a model share.
class ZeroCostSaver::Copying {
 public:
  explicit Copying(const ZeroCostOptions& options) : options_(options) {
    Writer::check(options.background);
    CopySchedule refuses_bad_hooks({}, schedule_options());
    if (options.ema) ema_ = std::make_shared<EmaState>(*options.ema);
  }

  void begin(const std::function<StateDict()>& state, const Step& step);
  void copy_chunk();
  void end();
  void finish();
  void add_averages(StateDict& state) {
    if (ema_) ema_->add_to_load(state);
  }

  ZeroCostReport report;

 private:
  CopySchedule::Options schedule_options() const {
    return {.hook_capacity = options_.hook_capacity, .usage = options_.usage};
  }
  void copy_at_once();
  void start_copy(const std::vector<CopyRange>& chunk);
  Writer::Job job(const std::shared_ptr<StagedState>& staged) const;

  ZeroCostOptions options_;
  std::shared_ptr<EmaState> ema_;  // belongs to the writer once that has begun
  std::vector<AsyncSave> saves_;

  // For the running copy, if there is one.
  std::shared_ptr<StagedState> staged_;
  std::optional<CopySchedule> schedule_;
  std::vector<DeputyTask> copies_;
  StreamEvent copied_;
  Step step_;
  bool averages_ = false;
};

void ZeroCostSaver::Copying::begin(const std::function<StateDict()>& state, const Step& step) {
  if (staged_) end();
  Writer& writer = Writer::of_this_rank();
  writer.raise_if_failed();
  averages_ = ema_ && options_.ema->is_due(step.number, step.loss);
  if (!averages_ && !step.save_to) return;
  writer.make_room(options_.background.in_flight);
  step_ = step;
  StateDict all = state();
  for (const std::string& name : options_.copied_at_once)
    if (all.find(name) == nullptr)
      raise(ErrorKind::value_error, "checkpoint/zero_cost",
            "copied_at_once: expected names of the state, got '{}'", name);
  staged_ = std::make_shared<StagedState>(step.save_to ? all : averaged_entries(all));
  copy_at_once();
  ++report.copies;
}

// Copies the entries that must be copied at once. Hooks copy the rest.
void ZeroCostSaver::Copying::copy_at_once() {
  std::vector<CopyRange> now, later;
  for (const CopyRange& range : staged_->ranges()) {
    const auto& names = options_.copied_at_once;
    bool is_now = std::count(names.begin(), names.end(), staged_->name_of(range.buffer)) > 0;
    (is_now ? now : later).push_back(range);
  }
  copied_ = CheckpointStreams::of_this_rank().copy([&] { staged_->launch_copy(now); });
  for (const CopyRange& range : now) staged_->copy_now(range);
  if (!now.empty()) Stream::current().wait(copied_);
  report.bytes_at_once += bytes_of(now);
  schedule_.emplace(std::move(later), schedule_options());
}

void ZeroCostSaver::Copying::start_copy(const std::vector<CopyRange>& chunk) {
  if (chunk.empty()) return;
  copied_ = CheckpointStreams::of_this_rank().copy([&] { staged_->launch_copy(chunk); });
  copies_.push_back(Deputy::of_this_rank(copying_deputy).start([staged = staged_, chunk] {
    staged->copy(chunk);
  }));
}

void ZeroCostSaver::Copying::copy_chunk() {
  Writer::of_this_rank().raise_if_failed();
  if (!staged_) return;
  std::vector<CopyRange> chunk = schedule_->next();
  report.bytes_in_hooks += bytes_of(chunk);
  start_copy(chunk);
}

void ZeroCostSaver::Copying::end() {
  Writer& writer = Writer::of_this_rank();
  writer.raise_if_failed();
  if (!staged_) return;
  std::vector<CopyRange> rest;
  while (!schedule_->is_done())
    for (const CopyRange& range : schedule_->next()) rest.push_back(range);
  report.bytes_before_step += bytes_of(rest);
  start_copy(rest);
  std::shared_ptr<StagedState> staged = std::exchange(staged_, nullptr);
  for (const DeputyTask& copy : std::exchange(copies_, {})) copy.wait();
  staged->check_unchanged();
  Stream::current().wait(copied_);
  AsyncSave save = writer.start(job(staged));
  if (step_.save_to) saves_.push_back(save);
}

Writer::Job ZeroCostSaver::Copying::job(const std::shared_ptr<StagedState>& staged) const {
  auto work = [staged, save_to = step_.save_to, options = options_.save, ema = ema_,
               averages = averages_] {
    if (averages) ema->update(staged->state());
    if (!save_to) return SaveReport();
    StateDict state = staged->state();
    if (ema) ema->add_to(state);
    return save(state, *save_to, options);
  };
  return {.work = work,
          .what = step_.save_to ? step_.save_to->text()
                                : fmt::format("the averages of step {}", step_.number),
          .copied = copied_,
          .write_gb_s = options_.background.write_gb_s};
}

void ZeroCostSaver::Copying::finish() {
  end();
  Writer::of_this_rank().make_room(1);
  for (const AsyncSave& save : std::exchange(saves_, {})) report.saves.push_back(save.wait());
}

ZeroCostSaver::ZeroCostSaver(const ZeroCostOptions& options)
    : copying_(std::make_shared<Copying>(options)) {}

ZeroCostSaver::~ZeroCostSaver() = default;

void ZeroCostSaver::after_step(const std::function<StateDict()>& state, const Step& step) {
  copying_->begin(state, step);
}

void ZeroCostSaver::at_hook() { copying_->copy_chunk(); }

void ZeroCostSaver::hook_into(nn::Module& model) {
  for (auto& [name, parameter] : model.named_parameters()) {
    if (!parameter.requires_grad()) continue;
    Tensor leaf = parameter;
    register_accumulate_hook(leaf, [hooked = std::weak_ptr<Copying>(copying_)](Tensor&) {
      if (auto copying = hooked.lock()) copying->copy_chunk();
    });
  }
}

void ZeroCostSaver::before_step() { copying_->end(); }
void ZeroCostSaver::finish() { copying_->finish(); }
void ZeroCostSaver::add_averages(StateDict& state) { copying_->add_averages(state); }
const ZeroCostReport& ZeroCostSaver::report() const { return copying_->report; }

}  // namespace simmesh::checkpoint
