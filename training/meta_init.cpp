#include "training/meta_init.h"

#include <map>

#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/nn/moe.h"
#include "core/ops/shapes/factories.h"
#include "fsdp/state_dict/state_dict.h"

namespace simmesh {

void init_from_meta(const TrainingModel& described, nn::Module& model) {
  fsdp::to_empty(model);
  std::map<std::string, const ParameterData*> given;
  for (const ParameterData& parameter : described.parameters) given[parameter.name] = &parameter;
  // A stage of a pipeline may have the copy of a tied parameter alone.
  for (const auto& [slot, other] : described.tied)
    if (auto found = given.find(other); found != given.end())
      given.try_emplace(slot, found->second);
  {
    Ledger::Uncharged host;
    Clock::Quiet no_launches;
    nn::StateDict values;
    for (const auto& [name, parameter] : model.named_parameters()) {
      auto found = given.find(name);
      if (found == given.end())
        raise(ErrorKind::value_error, "training/meta_init",
              "expected values for the parameter {}, got none", name);
      values.emplace_back(name, parameter_values(*found->second, described.dtype));
    }
    fsdp::load_state_dict(model, values, {.strict = false});
  }
  for (const auto& [path, module] : model.named_modules())
    if (auto* moe = dynamic_cast<nn::Moe*>(module); moe && moe->bias().is_defined())
      moe->set_bias(zeros_like(moe->bias()));
}

}  // namespace simmesh
