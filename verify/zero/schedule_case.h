#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"
#include "zero/config/config.h"

namespace simmesh {

// ScheduleCase is the run of a recorded schedule of ZeRO stage 3: the modules and parameters of a
// model, and the settings. The fields are those of tests/cases/zero/README.md.
struct ScheduleCase {
  enum class Phase : std::uint8_t { train, eval, forward };
  struct Module {
    std::string name;
    std::vector<std::int64_t> params;  // its own
    std::vector<std::int64_t> needs;   // these, and of a leaf module all those below it
    bool is_leaf = false;
  };
  struct Param {
    std::string name;
    std::int64_t numel = 0;
    bool is_persistent = false;
    std::int64_t shard_numel = 0;
    bool is_frozen = false;
  };

  std::vector<Module> modules;  // by id
  std::vector<Param> params;
  std::vector<std::vector<std::int64_t>> tiles;
  std::int64_t world = 1;
  DType dtype = DType::float32;
  bool has_optimizer = true;
  std::vector<Phase> phases;  // of each iteration
  std::int64_t gas = 1;       // micro-batches of a step
  zero::ZeroOptimization zero;

  // build makes a model with these modules and parameters, which can't compute. The values of a
  // parameter follow from its number.
  std::unique_ptr<nn::Module> build() const;
};

// schedule_meta_schema is the schema of the field meta, with the fields that a kind adds;
// read_schedule reads it. Bad sizes are BadCases.
Schema schedule_meta_schema(schema::Fields more);
ScheduleCase read_schedule(const CaseField& meta);

}  // namespace simmesh
