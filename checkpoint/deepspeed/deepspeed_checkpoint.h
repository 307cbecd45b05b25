#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/deepspeed/deepspeed_files.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// read_deepspeed returns what a checkpoint of DeepSpeed 0.19 holds, of any stage of ZeRO and any
// number of ranks, or what its ds_to_universal made of one, under the names that state_dict(engine)
// has:
//
//   model.NAME        a trained parameter, from the float32 flat groups; under master.NAME where
//                     the model has it in 16 bits
//   model.NAME        a frozen parameter or a buffer, with the dtype that it has there
//   optim.NAME.KEY    what the optimiser keeps for each element: exp_avg, exp_avg_sq, ...
//   optim.NAME.step, optim.lr, loss_scaler, lr_scheduler
//   global_steps, global_samples, skipped_steps, ds_version, and what was given as client_state
//
// Tied parameters come under each of their names. Values are those of DeepSpeed's zero_to_fp32; the
// chunks lie in the files of the ranks, so a load reads just the bytes that it needs. The state of
// an optimiser without ZeRO (stage 0) has no names, and is left out. Raises a ValueError that names
// the file for one that is broken, and for classes in a pickle that DeepSpeed doesn't write.
Catalog read_deepspeed(const Store& store, const DeepSpeedFiles& files);

// deepspeed_problems reads every byte of the files and says which are not what was written.
std::vector<std::string> deepspeed_problems(const Store& store, const DeepSpeedFiles& files);

}  // namespace simmesh::checkpoint
