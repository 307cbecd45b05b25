#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/deepspeed/deepspeed_files.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// read_deepspeed returns the catalog of a checkpoint of DeepSpeed from 0.14 on, of any stage of
// ZeRO and any number of ranks, or of a universal checkpoint that ds_to_universal made. It has the
// names of state_dict(engine):
//
//   model.NAME        a trained parameter, from the float32 flat groups; master.NAME if the model
//                     has it in 16 bits
//   model.NAME        a frozen parameter or a buffer, in its stored dtype
//   optim.NAME.KEY    the optimiser's values for each element: exp_avg, exp_avg_sq, ...
//   optim.NAME.step, optim.lr, loss_scaler, lr_scheduler
//   global_steps, global_samples, skipped_steps, ds_version, and the entries of client_state
//
// A tied parameter comes under each of its names. Values are those of DeepSpeed's zero_to_fp32. The
// chunks are in the files of the ranks, so a load reads only the bytes that it needs. The state of
// an optimiser without ZeRO (stage 0) has no names, and is left out. Raises a ValueError that names
// the file if it is broken.
Catalog read_deepspeed(const Store& store, const DeepSpeedFiles& files);

// deepspeed_problems reads every byte of the files, and returns a sentence for each member of an
// archive that isn't what was written.
std::vector<std::string> deepspeed_problems(const Store& store, const DeepSpeedFiles& files);

}  // namespace simmesh::checkpoint
