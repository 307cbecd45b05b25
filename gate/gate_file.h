#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <simmesh/gate/gate_fault.h>
#include <simmesh/gate/gate_model.h>
#include <simmesh/gate/training.h>

namespace simmesh {

// GateData is the table [data]: batches by formula. Step s has input seed + 2 s, target seed + 2 s
// + 1.
struct GateData {
  Rule rule = Rule::unit;
  std::uint64_t seed = 7;
  std::int64_t batch = 8;     // rows of a step, over all ranks and micro-batches
  std::int64_t sequence = 0;  // positions of a row; 0: a row is one position (not for tokens)
  // Sizes of one row, and for how many tokens the input, and classes the target, are numbers
  // instead of values; 0 for values.
  Shape input;
  Shape target;
  std::int64_t vocabulary = 0;
  std::int64_t classes = 0;
};

// GateReplicate is parallel.replicate.
struct GateReplicate {
  std::string mesh;  // the dim over which rows are cut
  std::int64_t bucket_bytes = std::int64_t(25) << 20;
  bool find_unused = false;
};

// GateParallel is the table [parallel].
struct GateParallel {
  std::optional<GateReplicate> replicate;
  bool checkpoint_blocks = false;
};

// GateTrain is the table [train].
struct GateTrain {
  std::int64_t steps = 1;
  std::int64_t micro_batches = 1;
  OptimizerSpec optimizer = optim::SgdOptions{.lr = 0.01};
  double clip_grad_norm = 0.0;  // 0: none
  LossKind loss = LossKind::mse;
};

// GateExpect is the table [expect]. What stands at its default isn't checked.
struct GateExpect {
  bool same_as_single_device = false;
  std::int64_t schedules = 1;
  std::map<std::string, std::int64_t> collectives;  // calls of each rank
  std::int64_t peak_bytes_max = 0;
  std::vector<double> loss;
  double loss_rtol = 0.0;
  std::string hash;
};

// GateFile is all that a gate file says, with the default of each key that it leaves out. It fits
// together: the mesh has the dims that are named, each rank gets rows in each micro-batch, sizes
// divide where they must.
struct GateFile {
  std::string file;  // as it was named
  std::string title;
  Shape mesh = {1};
  std::vector<std::string> mesh_names;
  GateModel model;
  GateData data;
  GateParallel parallel;
  GateTrain train;
  std::string arithmetic = "canonical";
  GateExpect expect;
  std::vector<GateFault> faults;

  std::int64_t ranks() const { return element_count(mesh); }
  // parts is the number of ranks that rows are cut over; replicate_dim the mesh dim of these.
  std::int64_t parts() const;
  std::int64_t replicate_dim() const;
  ModelUse model_use() const;
};

// read_gate reads a gate file. Throws a BadGate with file and line for a wrong one, and an Error
// for one that can't be read.
GateFile read_gate(const std::string& path);

// gate_from_text reads a gate file's text; file is how errors name it.
GateFile gate_from_text(std::string_view text, const std::string& file);

}  // namespace simmesh
