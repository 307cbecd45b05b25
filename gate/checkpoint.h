#pragma once

#include <cstdint>

#include "checkpoint/catalog/location.h"
#include "gate/expect.h"
#include "training/training.h"

namespace simmesh {

// SaveMode says how a run is saved: by a call that blocks, by async_save, or by a ZeroCostSaver.
// The latter two save while the next step is trained.
enum class SaveMode : std::uint8_t { blocking, async, zero_cost };
std::string_view to_string(SaveMode mode);

// GateCheckpoint is the table [checkpoint]: the run is saved after so many steps and goes on as
// another one, on another mesh or in another form of parallelism, with the same bits.
struct GateCheckpoint {
  std::int64_t save_at = 1;
  SaveMode mode = SaveMode::blocking;
  GateSameAs resume_on;  // without a word

  // name returns "resume on [8]", or "resume on [8] after an async save".
  std::string name() const;
};

// GateSave is a save of a run after so many steps.
struct GateSave {
  checkpoint::Location location;
  std::int64_t save_at = 1;
  SaveMode mode = SaveMode::blocking;

  // steps returns how many steps the run makes, so that it trains while it is saved; deputies how
  // many of them each rank needs.
  std::int64_t steps() const { return mode == SaveMode::blocking ? save_at : save_at + 1; }
  std::size_t deputies() const { return mode == SaveMode::blocking ? 0 : 2; }
};

// The name of the number of steps in the state of a saved run.
inline constexpr const char* saved_step_name = "step";

// with_save adds a save to a form of a run with so many micro-batches in a step. What the form
// calls already is called first.
ParallelForm with_save(ParallelForm form, const GateSave& save, std::int64_t micro_batches);

// read_gate_checkpoint reads the table. Without resume_on the run goes on as it is.
GateCheckpoint read_gate_checkpoint(GateTable& table, const ExpectUse& use);

}  // namespace simmesh
