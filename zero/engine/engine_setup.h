#pragma once

#include <cstdint>

#include "core/nn/module.h"
#include "core/optim/optimizer.h"
#include "zero/config/config.h"
#include "zero/engine/stage.h"

namespace simmesh::zero {

// completed_config returns the configuration of an engine over so many ranks: with the number of
// accumulation steps, by default 1. Raises as Config::check does, and AssertionErrors for keys that
// don't go together with the stage or with having no optimiser.
Config completed_config(Config config, std::int64_t ranks, bool has_optimizer);

// convert_module gives the module's parameters the dtype that fp16 or bf16 asks for, and its
// floating buffers that of data_types. By default buffers keep their dtype.
void convert_module(nn::Module& module, const Config& config);

// check_optimizer raises an AssertionError for an optimiser that DeepSpeed hasn't tested with ZeRO,
// which is any but Adam, AdamW, Adagrad, Lion and Muon here, unless zero_allow_untested_optimizer
// is set; and a ValueError for Muon in stage 3 with reduce_scatter, as DeepSpeed does.
void check_optimizer(const optim::Optimizer& optimizer, const Config& config);

}  // namespace simmesh::zero
