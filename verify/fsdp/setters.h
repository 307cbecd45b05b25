#pragma once

#include <optional>
#include <string>

#include "core/nn/module.h"
#include "training/fsdp_plan.h"

namespace simmesh {

// set_on_module calls the method set_<what> of a sharded module with a value as Python would pass
// it; `recurse` where not given is the method's default. Raises what the method raises, a
// ValueError or TypeError where PyTorch checks a value's type (other flags use Python's truth of a
// value), and an AttributeError for an unknown method.
void set_on_module(nn::Module& module, const std::string& what, const PlainValue& value,
                   std::optional<bool> recurse);

// fits_setter is true if a value has the type that PyTorch documents for set_<what>: an int for the
// buffers, a number or None for the divide factor, and else a bool. An unknown method takes any.
bool fits_setter(const std::string& what, const PlainValue& value);

}  // namespace simmesh
