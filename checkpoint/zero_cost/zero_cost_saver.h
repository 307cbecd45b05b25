#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/zero_cost/ema_state.h"
#include "checkpoint/zero_cost/writer.h"
#include "core/nn/module.h"

namespace simmesh::checkpoint {

// ZeroCostOptions say how a saver copies and writes.
struct ZeroCostOptions {
  SaveOptions save = {};
  BackgroundOptions background = {};
  // Hooks in a step, and the share of them that copies: max(int(hook_capacity * usage), 1) chunks.
  std::int64_t hook_capacity = 1;
  double usage = 0.6;
  // Entries that a forward or backward pass changes, such as the buffers of a batch norm: they are
  // copied right after the step.
  std::vector<std::string> copied_at_once = {};
  std::optional<EmaOptions> ema = {};
};

// buffer_names returns the names that a model's buffers have in state_dict: for copied_at_once.
std::vector<std::string> buffer_names(nn::Module& model);

// ZeroCostReport counts what a rank's saver did.
struct ZeroCostReport {
  std::int64_t copies = 0;         // of the state, for saves and averages
  std::int64_t bytes_at_once = 0;  // copied right after a step
  std::int64_t bytes_in_hooks = 0;
  std::int64_t bytes_before_step = 0;  // for which the optimiser had to wait
  std::vector<SaveReport> saves;       // those that were waited for, in order
};

// ZeroCostSaver saves while training goes on, and keeps an exponential moving average, as
// PaddleNLP's zero-cost checkpoints do. Between one step of the optimiser and the next one the
// parameters and the optimiser's state don't change: a fiber copies them to the host's memory
// meanwhile, ceil(bytes / chunks) of them at each hook of the backward passes, and the rest right
// before the optimiser's step. A writer then averages and saves. What is saved has the bytes of a
// blocking save after the step.
//
//   checkpoint::ZeroCostSaver saver({.hook_capacity = 8});
//   saver.hook_into(model);
//   for (std::int64_t step = 0; step < 100; ++step) {
//     backward(sum(model(x)));
//     saver.before_step();
//     optimizer.step();
//     saver.after_step([&] { return checkpoint::state_dict(model, optimizer); },
//                      {.number = step,
//                       .save_to = checkpoint::Directory("run3/step_" + std::to_string(step))});
//   }
//   saver.finish();
//
// All ranks of the world call it alike; the world needs two deputies. Every call raises the error
// of a save that has failed so far, and so does finish at the latest: the text says which rank's
// writer failed, at which file and why. In a simulated device the streams are those of async_save:
// exposed_us of "checkpoint copies" is how long the optimiser waited for the copy, and that of
// "checkpoint writer" how long a step waited for a save to make room.
class ZeroCostSaver {
 public:
  // Raises a ValueError for options that make no sense.
  explicit ZeroCostSaver(const ZeroCostOptions& options);
  ~ZeroCostSaver();
  ZeroCostSaver(const ZeroCostSaver&) = delete;
  ZeroCostSaver& operator=(const ZeroCostSaver&) = delete;

  // Step is a step of the optimiser: its number, its loss, and where the state is saved, if it is.
  struct Step {
    std::int64_t number = 0;
    std::optional<double> loss = {};
    std::optional<Location> save_to = {};
  };
  // after_step begins a copy, if the step is to be saved or averaged; only then it asks for the
  // state, whose tensors must be those of the run. Waits where in_flight copies are not written.
  void after_step(const std::function<StateDict()>& state, const Step& step);

  // at_hook copies the next chunk, if there is one: it gives it to a fiber, and doesn't wait.
  // hook_into calls it whenever the gradient of one of the model's parameters was added up.
  void at_hook();
  void hook_into(nn::Module& model);

  // before_step is called before the optimiser's step: the rest is copied, the copy waited for, and
  // given to the writer. Raises a RuntimeError that names a tensor that was written too early; then
  // nothing is saved.
  void before_step();

  // finish is called after the last step: it copies the rest and waits for all saves.
  void finish();

  // add_averages appends the averages, "ema.NAME", to a state, for a load to fill: see EmaState.
  // Call it before the first step. Does nothing where no averages are kept.
  void add_averages(StateDict& state);

  // report returns what this rank's saver did so far.
  const ZeroCostReport& report() const;

 private:
  class Copying;
  std::shared_ptr<Copying> copying_;  // hooks may outlive the saver
};

}  // namespace simmesh::checkpoint
