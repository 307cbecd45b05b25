#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "checkpoint/catalog/location.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/zero_cost/ema_state.h"
#include "gate/expect.h"
#include "training/training.h"

namespace simmesh {

// SaveMode is the way in which a run is saved: by a call that blocks, by async_save, or by a
// ZeroCostSaver. The latter two save while the next step is trained.
enum class SaveMode : std::uint8_t { blocking, async, zero_cost };
std::string_view to_string(SaveMode mode);

// SaveContents are the layout of a save's files, whether each rank keeps what it needs to resume
// from its own, and the options of the moving average that is saved, if any.
struct SaveContents {
  checkpoint::SaveLayout layout = checkpoint::SaveLayout::one_file;
  bool keeps_local = false;
  std::optional<checkpoint::EmaOptions> ema = {};

  checkpoint::SaveOptions options() const { return {.layout = layout, .keeps_local = keeps_local}; }
};

// GateCheckpoint is the table [checkpoint]. The run is saved after some steps, and resumes on
// another mesh or in another form of parallelism, with the same bits.
struct GateCheckpoint {
  std::int64_t save_at = 1;
  SaveMode mode = SaveMode::blocking;
  SaveContents contents;
  GateSameAs resume_on;       // without a word
  bool resumes_alike = true;  // in the gate's own form, on its own mesh

  // name returns "resume on [8]", or "resume on [8] after an async save".
  std::string name() const;
};

// GateSave is a save of a run after save_at steps.
struct GateSave {
  checkpoint::Location location;
  std::int64_t save_at = 1;
  SaveMode mode = SaveMode::blocking;
  SaveContents contents = {};

  // steps returns the number of steps of the run, which trains while it is saved in some modes, and
  // deputies the number of deputies that each rank needs.
  std::int64_t steps() const { return mode == SaveMode::blocking ? save_at : save_at + 1; }
  std::size_t deputies() const { return mode == SaveMode::blocking ? 0 : 2; }
};

// The name of the number of steps in the state of a saved run.
inline constexpr const char* saved_step_name = "step";

// MovingAverages are those of a rank's parameters; null for a run without any.
using MovingAverages = std::shared_ptr<checkpoint::EmaState>;

// with_averages adds averages that each step updates, and returns them.
MovingAverages with_averages(ParallelForm& form, const checkpoint::EmaOptions& options);

// with_save adds a save to the form of a run with that many micro-batches in a step, with its
// averages. A zero-cost save keeps averages of its own. The form's own callbacks run first.
ParallelForm with_save(ParallelForm form, const GateSave& save, std::int64_t micro_batches,
                       const MovingAverages& averages = {});

// read_gate_checkpoint reads the table. Without resume_on the run resumes in its own form.
GateCheckpoint read_gate_checkpoint(GateTable& table, const ExpectUse& use);

}  // namespace simmesh
