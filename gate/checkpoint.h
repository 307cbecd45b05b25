#pragma once

#include <cstdint>

#include "checkpoint/catalog/location.h"
#include "gate/expect.h"
#include "training/training.h"

namespace simmesh {

// SaveMode is the way in which a run is saved: by a call that blocks, by async_save, or by a
// ZeroCostSaver. The latter two save while the next step is trained.
enum class SaveMode : std::uint8_t { blocking, async, zero_cost };
std::string_view to_string(SaveMode mode);

// GateCheckpoint is the table [checkpoint]. The run is saved after some steps, and resumes on
// another mesh or in another form of parallelism, with the same bits.
struct GateCheckpoint {
  std::int64_t save_at = 1;
  SaveMode mode = SaveMode::blocking;
  GateSameAs resume_on;  // without a word

  // name returns "resume on [8]", or "resume on [8] after an async save".
  std::string name() const;
};

// GateSave is a save of a run after save_at steps.
struct GateSave {
  checkpoint::Location location;
  std::int64_t save_at = 1;
  SaveMode mode = SaveMode::blocking;

  // steps returns the number of steps of the run, which trains while it is saved in some modes, and
  // deputies the number of deputies that each rank needs.
  std::int64_t steps() const { return mode == SaveMode::blocking ? save_at : save_at + 1; }
  std::size_t deputies() const { return mode == SaveMode::blocking ? 0 : 2; }
};

// The name of the number of steps in the state of a saved run.
inline constexpr const char* saved_step_name = "step";

// with_save adds a save to the form of a run with that many micro-batches in a step. The form's own
// callbacks run first.
ParallelForm with_save(ParallelForm form, const GateSave& save, std::int64_t micro_batches);

// read_gate_checkpoint reads the table. Without resume_on the run resumes in its own form.
GateCheckpoint read_gate_checkpoint(GateTable& table, const ExpectUse& use);

}  // namespace simmesh
