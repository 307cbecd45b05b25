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

// ZeroCostOptions are the options of a saver.
struct ZeroCostOptions {
  SaveOptions save = {};
  BackgroundOptions background = {};
  // The hooks in a step, and the share of them that copies. There are
  // max(int(hook_capacity * usage), 1) chunks.
  std::int64_t hook_capacity = 1;
  double usage = 0.6;
  // Entries that a forward or backward pass changes, such as the buffers of a batch norm. They are
  // copied right after the step.
  std::vector<std::string> copied_at_once = {};
  std::optional<EmaOptions> ema = {};
};

// buffer_names returns the names of a model's buffers in state_dict, for copied_at_once.
std::vector<std::string> buffer_names(nn::Module& model);

// ZeroCostReport counts the copies and saves of a rank's saver.
struct ZeroCostReport {
  std::int64_t copies = 0;         // for saves and averages
  std::int64_t bytes_at_once = 0;  // copied right after a step
  std::int64_t bytes_in_hooks = 0;
  std::int64_t bytes_before_step = 0;  // copied while the optimiser waited
  std::vector<SaveReport> saves;       // that ended, in order
};

// ZeroCostSaver saves beside training, and keeps an exponential moving average, as PaddleNLP's
// zero-cost checkpoints do. Parameters and the optimiser's state don't change between one step of
// the optimiser and the next. Meanwhile a fiber copies them to the host's memory: ceil(bytes /
// chunks) of them at each hook of the backward passes, and the rest right before the optimiser's
// step. A writer then averages and saves. The checkpoint has the bytes of a blocking save after the
// step.
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
// All ranks of the world make the same calls. The world needs two deputies. Every call raises the
// error of a save that has failed so far, finish at the latest. The text names the rank, the file
// and the reason. A simulated device has the streams of async_save. exposed_us of "checkpoint
// copies" is the time that the optimiser waited for the copy. exposed_us of "checkpoint writer" is
// the time that a step waited for a save to make room.
class ZeroCostSaver {
 public:
  // Raises a ValueError for options outside their ranges.
  explicit ZeroCostSaver(const ZeroCostOptions& options);
  ~ZeroCostSaver();
  ZeroCostSaver(const ZeroCostSaver&) = delete;
  ZeroCostSaver& operator=(const ZeroCostSaver&) = delete;

  // Step is a step of the optimiser: its number, its loss, and the place of a save if there is one.
  struct Step {
    std::int64_t number = 0;
    std::optional<double> loss = {};
    std::optional<Location> save_to = {};
  };
  // after_step begins a copy if the step is saved or averaged. Only then it asks for the state,
  // whose tensors must be those of the run. It waits if in_flight copies are not written yet.
  void after_step(const std::function<StateDict()>& state, const Step& step);

  // at_hook gives the next chunk, if there is one, to the fiber that copies, and doesn't wait.
  // hook_into calls it whenever a gradient of one of the model's parameters is accumulated.
  void at_hook();
  void hook_into(nn::Module& model);

  // before_step is called before the optimiser's step. It copies the rest, waits for the copy, and
  // gives it to the writer. Raises a RuntimeError that names a tensor that was written too early;
  // then nothing is saved.
  void before_step();

  // finish is called after the last step. It copies the rest and waits for all saves.
  void finish();

  // add_averages appends the averages, "ema.NAME", to a state, for a load to fill (see EmaState).
  // Call it before the first step. It does nothing if no averages are kept.
  void add_averages(StateDict& state);

  // report returns what this rank's saver did so far.
  const ZeroCostReport& report() const;

 private:
  class Copying;
  std::shared_ptr<Copying> copying_;  // hooks may outlive the saver
};

}  // namespace simmesh::checkpoint
