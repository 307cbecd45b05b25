#pragma once

#include <string>

#include "gate/tables/keys.h"
#include "gate/tables/model.h"
#include "gate/tables/train.h"
#include "gate/tables/zero.h"

namespace simmesh {

// ZeroFileUse are the parts of a gate that a DeepSpeed file says something about, and the path of
// the gate.
struct ZeroFileUse {
  const std::string& gate_file;
  const GateLayout& mesh;
  const GateModel& model;
  GateZero& zero;
  GateData& data;
  GateTrain& train;
};

// take_zero_file reads the DeepSpeed file of parallel.zero for the training of a gate. Batch size,
// accumulation, clipping and the optimizer of the file hold where the gate leaves data.batch,
// train.micro_batches, train.clip_grad_norm and train.optimizer out; where the gate gives them too,
// they must be the same. "auto" stands for the gate's own values. Does nothing without a file.
// Under torch_autocast forward runs under autocast in every run of the gate, that of one device
// too. Rejects what DeepSpeed refuses, and what a gate can't train with: schedulers, float16,
// another dtype than the model's.
void take_zero_file(GateTable& top, const ZeroFileUse& use);

}  // namespace simmesh
