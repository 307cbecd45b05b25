#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gate/checkpoint.h"
#include "gate/expect.h"
#include "gate/tables/device.h"
#include "gate/tables/fault.h"
#include "gate/tables/mesh.h"
#include "gate/tables/model.h"
#include "gate/tables/parallel.h"
#include "gate/tables/train.h"
#include "gate/tables/world.h"

namespace simmesh {

// GateFile is the content of a gate file, with the default of each key that the file leaves out.
// Its parts fit together: the mesh has all named dims, each rank gets rows in each micro-batch, and
// sizes divide where they must.
struct GateFile {
  std::string file;  // the path as given
  std::string title;
  GateLayout mesh;
  std::string mesh_place;  // FILE:LINE:COLUMN of its sizes
  GateWorld world;
  GateModel model;
  GateData data;
  GateParallel parallel;
  GateTrain train;
  std::optional<DeviceModel> device;  // the simulated device; by default none is modelled
  std::string arithmetic = "canonical";
  GateExpect expect;
  std::vector<GateFault> faults;
  std::optional<GateCheckpoint> checkpoint;

  std::int64_t ranks() const { return numel(mesh.shape); }
  // parts returns the number of ranks over which rows are cut.
  std::int64_t parts() const { return parallel.parts(mesh); }
  ModelUse model_use() const;
  // run_as returns the gate in another form of parallelism, without [expect], [faults] and
  // [checkpoint].
  GateFile run_as(const GateSameAs& other) const;
};

// read_gate reads a gate file. Raises a BadGate with file and line if its content is wrong, and an
// Error if it can't be read.
GateFile read_gate(const std::string& path);

// gate_from_text reads the text of a gate file; errors name it by `file`.
GateFile gate_from_text(std::string_view text, const std::string& file);

// gate_from_table reads a gate that is parsed already.
GateFile gate_from_table(const toml::table& parsed, const std::string& file);

}  // namespace simmesh
