#include "verify/pytorch/ops/python_functions.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "core/check/check.h"
#include "core/check/error.h"
#include "verify/case_tensor.h"
#include "verify/pytorch/ops/complex_pairs.h"

namespace simmesh {

namespace {

// A plain pointer is there before any object of another file is made.
constinit const PythonFamily* first_family = nullptr;

using Overloads = std::vector<const PythonFunction*>;
using Table = std::map<std::string, Overloads, std::less<>>;

// Refuses a name with overloads in two families: the order of files would choose among them.
void add_family(Table& table, const PythonFunctions& family) {
  std::map<std::string, Overloads> own;
  for (const PythonFunction& function : family)
    for (std::size_t begin = 0; begin < function.names.size();) {
      std::size_t end = std::min(function.names.find(' ', begin), function.names.size());
      own[function.names.substr(begin, end - begin)].push_back(&function);
      begin = end + 1;
    }
  for (auto& [name, overloads] : own) {
    bool is_new = table.emplace(name, std::move(overloads)).second;
    SIMMESH_CHECK(is_new, "two families have the name {}", name);
  }
}

const Table& table() {
  static const std::vector<PythonFunctions> families = PythonFamily::all();
  static const Table table = [] {
    Table made;
    for (const PythonFunctions& family : families) add_family(made, family);
    return made;
  }();
  return table;
}

const Overloads* overloads_of(std::string_view name) {
  constexpr std::string_view prefix = "torch.ops.";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace

PythonFamily::PythonFamily(PythonFunctions (*functions)())
    : functions_(functions), next_(first_family) {
  first_family = this;
}

std::vector<PythonFunctions> PythonFamily::all() {
  std::vector<PythonFunctions> families;
  for (const PythonFamily* family = first_family; family; family = family->next_)
    families.push_back(family->functions_());
  return families;
}

std::string everywhere(std::string_view name, std::string_view overloads) {
  std::string names = fmt::format("torch.{0} Tensor.{0}", name);
  while (!overloads.empty()) {
    std::size_t end = std::min(overloads.find(' '), overloads.size());
    names += fmt::format(" aten.{}.{}", name, overloads.substr(0, end));
    overloads.remove_prefix(std::min(end + 1, overloads.size()));
  }
  return names;
}

bool knows_python(std::string_view function) { return overloads_of(function) != nullptr; }

namespace {

// Chosen is the overload that takes the arguments, and its parameters' values.
struct Chosen {
  const PythonFunction* function;
  std::vector<PythonValue> values;
};

// Names the functions that take complex tensors, and says why this one isn't called.
[[noreturn]] void refuse_complex(std::string_view function) {
  std::string known;
  for (const auto& entry : table()) {
    std::string_view name = name_without_complex(entry.first);
    if (name.size() < entry.first.size() && name.starts_with("torch."))
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  raise(ErrorKind::not_implemented_error, "verify/pytorch",
        "complex tensors: expected complex tensors alone, without gradients and other operands, in "
        "one of {}; got {}",
        known, name_without_complex(function));
}

Chosen choose(std::string_view function, const PythonArguments& arguments) {
  const auto* overloads = overloads_of(function);
  if (!overloads && is_of_complex(function)) refuse_complex(function);
  if (!overloads)
    raise(ErrorKind::not_implemented_error, "verify/pytorch",
          "expected a function of PyTorch that is known here, got {}", function);
  std::string reasons;
  for (const PythonFunction* overload : *overloads) {
    std::string why;
    std::vector<PythonValue> values = overload->signature.bind(arguments, why);
    if (why.empty()) return {overload, std::move(values)};
    reasons += (reasons.empty() ? "" : "; ") + why;
  }
  if (is_of_complex(function)) refuse_complex(function);
  raise(ErrorKind::type_error, "verify/pytorch", "{}(): expected other arguments: {}", function,
        reasons);
}

std::vector<Tensor> tensors_among(const std::vector<PythonValue>& values) {
  std::vector<Tensor> tensors;
  for (const PythonValue& value : values)
    for (const PythonValue& entry : flat(value))
      if (const Tensor* tensor = entry.find<Tensor>()) tensors.push_back(*tensor);
  return tensors;
}

// Returns a value with the next tensors in the places of its own.
PythonValue with_tensors(const PythonValue& value, gsl::span<const Tensor> tensors,
                         std::size_t& next) {
  if (value.find<Tensor>()) return tensors[next++];
  const auto* list = value.find<PythonValue::List>();
  if (!list) return value;
  PythonValue::List given;
  for (const PythonValue& entry : *list) given.push_back(with_tensors(entry, tensors, next));
  return given;
}

// Refuses sizes that no machine holds: a case comes from outside.
void check_size(std::string_view function, const Chosen& chosen) {
  double elements = 1;
  for (const Tensor& tensor : tensors_among(chosen.values))
    elements = std::max(elements, double(tensor.numel()));
  double result = elements * chosen.function->signature.largest_factor(chosen.values);
  if (result > double(case_elements_max))
    raise(ErrorKind::value_error, "verify/pytorch",
          "{}(): expected sizes for a result of at most {} elements, got some that may give {:.3g}",
          function, case_elements_max, result);
}

}  // namespace

PythonValue call_python(std::string_view function, const PythonArguments& arguments,
                        const MoveTensors& move) {
  Chosen chosen = choose(function, arguments);
  check_size(function, chosen);
  if (move) {
    std::vector<Tensor> tensors = tensors_among(chosen.values);
    move(tensors);
    std::size_t next = 0;
    for (PythonValue& value : chosen.values) value = with_tensors(value, tensors, next);
  }
  PythonCall call(chosen.function->signature, std::move(chosen.values));
  return chosen.function->call(call);
}

std::vector<Tensor> tensors_of_call(std::string_view function, const PythonArguments& arguments) {
  return tensors_among(choose(function, arguments).values);
}

}  // namespace simmesh
