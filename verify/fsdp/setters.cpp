#include "verify/fsdp/setters.h"

#include <functional>
#include <map>

#include "core/check/error.h"
#include "fsdp/fsdp_module.h"
#include "fsdp/state/state.h"

namespace simmesh {

namespace {

constexpr std::string_view setters_source = "verify/fsdp/setters";

using fsdp::FSDPModule;

// The truth of a value, as in Python.
struct Truth {
  bool operator()(std::monostate) const { return false; }
  bool operator()(bool value) const { return value; }
  bool operator()(std::int64_t value) const { return value != 0; }
  bool operator()(double value) const { return value != 0; }
  bool operator()(const std::string& value) const { return !value.empty(); }
};

// One of the setters of flags requires a bool.
bool as_flag(const PlainValue& value, const std::string& what) {
  if (what == "reshard_after_forward" && !std::holds_alternative<bool>(value))
    raise(ErrorKind::value_error, setters_source,
          "set_{} expects a bool, got a value of another type", what);
  return std::visit(Truth(), value);
}

std::int64_t as_count(const PlainValue& value, const std::string& what) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return *count;
  raise(ErrorKind::type_error, setters_source, "set_{} expects an int, got a value of another type",
        what);
}

double as_number(const PlainValue& value, const std::string& what) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  return double(as_count(value, what));
}

using Recursive = void (FSDPModule::*)(bool, bool) const;
using Own = void (FSDPModule::*)(bool) const;

const std::map<std::string, Recursive>& recursive_setters() {
  static const std::map<std::string, Recursive> setters = {
      {"requires_gradient_sync", &FSDPModule::set_requires_gradient_sync},
      {"requires_all_reduce", &FSDPModule::set_requires_all_reduce},
      {"reshard_after_forward", &FSDPModule::set_reshard_after_forward},
      {"reshard_after_backward", &FSDPModule::set_reshard_after_backward},
      {"reduce_scatter_unused_params", &FSDPModule::set_reduce_scatter_unused_params},
      {"keep_unsharded_storage", &FSDPModule::set_keep_unsharded_storage},
      {"separate_reduce_scatter_group", &FSDPModule::set_separate_reduce_scatter_group}};
  return setters;
}

const std::map<std::string, Own>& own_setters() {
  static const std::map<std::string, Own> setters = {
      {"is_last_backward", &FSDPModule::set_is_last_backward},
      {"unshard_async_op", &FSDPModule::set_unshard_async_op},
      {"manual_backward_finalization", &FSDPModule::set_manual_backward_finalization},
      {"force_sum_reduction_for_comms", &FSDPModule::set_force_sum_reduction_for_comms},
      {"unshard_in_backward", &FSDPModule::set_unshard_in_backward},
      {"allocate_memory_from_process_group_for_comm",
       &FSDPModule::set_allocate_memory_from_process_group_for_comm}};
  return setters;
}

}  // namespace

bool fits_setter(const std::string& what, const PlainValue& value) {
  if (recursive_setters().count(what) || own_setters().count(what))
    return std::holds_alternative<bool>(value);
  bool is_integer = std::holds_alternative<std::int64_t>(value);
  if (what == "reduce_scatter_max_input_buffers") return is_integer;
  if (what != "gradient_divide_factor") return true;
  return is_integer || std::holds_alternative<double>(value) ||
         std::holds_alternative<std::monostate>(value);
}

void set_on_module(nn::Module& module, const std::string& what, const PlainValue& value,
                   std::optional<bool> recurse) {
  if (!fsdp::FSDPState::of(module))
    raise(ErrorKind::attribute_error, setters_source,
          "a module that fully_shard wasn't applied to has no attribute 'set_{}'", what);
  FSDPModule target(module);
  if (auto setter = recursive_setters().find(what); setter != recursive_setters().end())
    return (target.*setter->second)(as_flag(value, what), recurse.value_or(true));
  if (what == "reduce_scatter_max_input_buffers")
    return target.set_reduce_scatter_max_input_buffers(as_count(value, what),
                                                       recurse.value_or(true));
  auto setter = own_setters().find(what);
  bool is_factor = what == "gradient_divide_factor";
  if (setter == own_setters().end() && !is_factor)
    raise(ErrorKind::attribute_error, setters_source, "a sharded module has no attribute 'set_{}'",
          what);
  if (recurse)
    raise(ErrorKind::type_error, setters_source,
          "set_{} got an unexpected keyword argument 'recurse'", what);
  if (!is_factor) return (target.*setter->second)(as_flag(value, what));
  if (std::holds_alternative<std::monostate>(value)) return target.set_gradient_divide_factor({});
  target.set_gradient_divide_factor(as_number(value, what));
}

}  // namespace simmesh
