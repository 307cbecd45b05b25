#include "verify/pytorch/in_place_program.h"

#include <fmt/format.h>
#include <functional>
#include <map>
#include <sstream>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"
#include "verify/case_bits.h"

namespace simmesh {

namespace {

constexpr std::string_view program_source = "verify/in_place";

struct RefusalPhrase {
  const char* word;
  const char* phrase;
};

constexpr RefusalPhrase refusal_phrases[] = {
    {"view_of_leaf", "a view of a leaf Variable that requires grad is being used"},
    {"leaf", "a leaf Variable that requires grad is being used in an in-place operation"},
    {"one_of_several", "This view is the output of a function that returns multiple views"},
    {"unrecorded_view", "Given that this use case is ambiguous and error-prone, it is forbidden"},
    {"saved", "one of the variables needed for gradient computation has been modified"},
    {"repeated",
     "more than one element of the written-to tensor refers to a single memory location"},
    {"overlap", "some elements of the input tensor and the written-to tensor refer to a single"},
    {"no_gradient", "does not require grad and does not have a grad_fn"},
};

using Numbers = gsl::span<const std::int64_t>;

// A function of a step: `tensors` of its arguments are numbers of tensors, `numbers` follow.
struct StepFunction {
  std::size_t tensors;
  std::size_t numbers;
  std::function<std::vector<Tensor>(std::vector<Tensor*> x, Numbers numbers)> call;
};

// Makes a function of one that returns one tensor, or one that changes its first.
StepFunction making(std::size_t numbers, std::function<Tensor(const Tensor&, Numbers)> make) {
  return {1, numbers, [make = std::move(make)](std::vector<Tensor*> x, Numbers all) {
            return std::vector<Tensor>{make(*x[0], all)};
          }};
}

StepFunction making_several(std::function<std::vector<Tensor>(const Tensor&, std::int64_t)> make) {
  return {1, 1, [make = std::move(make)](std::vector<Tensor*> x, Numbers all) {
            return make(*x[0], all[0]);
          }};
}

StepFunction changing(std::function<void(Tensor&)> change) {
  return {1, 0, [change = std::move(change)](std::vector<Tensor*> x, Numbers) {
            change(*x[0]);
            return std::vector<Tensor>();
          }};
}

StepFunction changing_by(std::function<void(Tensor&, const Tensor&)> change) {
  return {2, 0, [change = std::move(change)](std::vector<Tensor*> x, Numbers) {
            change(*x[0], *x[1]);
            return std::vector<Tensor>();
          }};
}

StepFunction joining_two(std::function<Tensor(const Tensor&, const Tensor&)> join) {
  return {2, 0, [join = std::move(join)](std::vector<Tensor*> x, Numbers) {
            return std::vector<Tensor>{join(*x[0], *x[1])};
          }};
}

Tensor reversed(const Tensor& x) {
  Dims order;
  for (std::int64_t dim = x.dim(); dim-- > 0;) order.push_back(dim);
  return permute(x, order);
}

Tensor twice(const Tensor& x) {
  Dims shape = {2};
  shape.insert(shape.end(), x.shape().begin(), x.shape().end());
  return expand(x, shape);
}

using StepFunctions = std::map<std::string, StepFunction>;

void add_views(StepFunctions& all) {
  all["same"] = making(0, [](auto& x, Numbers) { return x; });
  all["detach"] = making(0, [](auto& x, Numbers) { return detach(x); });
  all["flat"] = making(0, [](auto& x, Numbers) { return view(x, {-1}); });
  all["column"] = making(0, [](auto& x, Numbers) { return view(x, {-1, 1}); });
  all["reshape"] = making(0, [](auto& x, Numbers) { return reshape(x, {-1}); });
  all["narrow"] = making(3, [](auto& x, Numbers n) {
    return narrow(x, {.dim = n[0], .start = n[1], .length = n[2]});
  });
  all["slice"] = making(0, [](auto& x, Numbers) { return slice(x, {.dim = 0, .step = 2}); });
  all["select"] = making(2, [](auto& x, Numbers n) { return select(x, n[0], n[1]); });
  all["transpose"] = making(0, [](auto& x, Numbers) { return transpose(x, 0, 1); });
  all["t"] = making(0, [](auto& x, Numbers) { return t(x); });
  all["permute"] = making(0, [](auto& x, Numbers) { return reversed(x); });
  all["unsqueeze"] = making(1, [](auto& x, Numbers n) { return unsqueeze(x, n[0]); });
  all["squeeze"] = making(0, [](auto& x, Numbers) { return squeeze(x); });
  all["expand"] = making(0, [](auto& x, Numbers) { return twice(x); });
  all["diagonal"] = making(0, [](auto& x, Numbers) { return diagonal(x); });
  all["unbind"] = making_several([](auto& x, std::int64_t dim) { return unbind(x, dim); });
  all["split"] = making_several([](auto& x, std::int64_t dim) { return split(x, 1, dim); });
  all["chunk"] = making_several([](auto& x, std::int64_t dim) { return chunk(x, 2, dim); });
}

void add_changes(StepFunctions& all) {
  all["mul2_"] = changing([](Tensor& x) { mul_(x, 2); });
  all["add2_"] = changing([](Tensor& x) { add_(x, 2); });
  all["half_"] = changing([](Tensor& x) { div_(x, 2); });
  all["neg_"] = changing([](Tensor& x) { neg_(x); });
  all["relu_"] = changing([](Tensor& x) { relu_(x); });
  all["clamp_"] = changing([](Tensor& x) { clamp_(x, -1, 2); });
  all["floor_"] = changing([](Tensor& x) { floor_(x); });
  all["zero_"] = changing([](Tensor& x) { zero_(x); });
  all["fill3_"] = changing([](Tensor& x) { fill_(x, 3); });
  all["fill_"] = changing_by([](Tensor& x, auto& y) { fill_(x, y); });
  all["mul_"] = changing_by([](Tensor& x, auto& y) { mul_(x, y); });
  all["add_"] = changing_by([](Tensor& x, auto& y) { add_(x, y); });
  all["sub_"] = changing_by([](Tensor& x, auto& y) { sub_(x, y, 2); });
  all["copy_"] = changing_by([](Tensor& x, auto& y) { copy_from_(x, y); });
  all["addcmul_"] = {3, 0, [](std::vector<Tensor*> x, Numbers) {
                       addcmul_(*x[0], *x[1], *x[2], 2);
                       return std::vector<Tensor>();
                     }};
}

const StepFunctions& step_functions() {
  static const StepFunctions functions = [] {
    StepFunctions all;
    add_views(all);
    add_changes(all);
    all["square"] = making(0, [](auto& x, Numbers) { return mul(x, x); });
    all["double"] = making(0, [](auto& x, Numbers) { return mul(x, 2); });
    all["relu"] = making(0, [](auto& x, Numbers) { return relu(x); });
    all["times"] = joining_two([](auto& x, auto& y) { return mul(x, y); });
    all["plus"] = joining_two([](auto& x, auto& y) { return add(x, y); });
    return all;
  }();
  return functions;
}

std::vector<Tensor> first_tensors() {
  Tensor leaf = tensor_of<float>({2, 3}, {-2, -1, 0, 1, 2, 3});
  Tensor factor = tensor_of<float>({}, {3});
  set_requires_grad(leaf);
  set_requires_grad(factor);
  return {leaf, factor, mul(leaf, 1), tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6})};
}

Tensor& tensor_at(std::vector<Tensor>& tensors, std::int64_t number) {
  if (number < 0 || number >= std::int64_t(tensors.size()))
    raise(ErrorKind::value_error, program_source, "expected one of {} tensors, got number {}",
          tensors.size(), number);
  return tensors[std::size_t(number)];
}

void do_step(const InPlaceStep& step, std::vector<Tensor>& tensors) {
  const StepFunction& function = step_functions().at(step.name);
  std::vector<Tensor*> arguments;
  for (std::size_t i = 0; i < function.tensors; ++i)
    arguments.push_back(&tensor_at(tensors, step.numbers[i]));
  GradMode mode(step.is_recorded);
  Numbers numbers = Numbers(step.numbers).subspan(function.tensors);
  for (Tensor& made : function.call(arguments, numbers)) tensors.push_back(made);
}

void finish(const InPlaceStep& step, std::vector<Tensor>& tensors) {
  Tensor loss = zeros({}, DType::float32);
  for (std::int64_t number : step.numbers)
    loss = add(loss, sum(mul(tensor_at(tensors, number), number + 1)));
  backward(loss);
}

// Folds elements into a hash, FNV-1a; a negative zero counts as a positive one.
void fold_elements(std::uint64_t& hash, const Tensor& tensor) {
  Tensor rows = known_rows(tensor);
  for (float value : rows.values<float>()) {
    value += 0.0F;
    hash = fnv1a(hash, gsl::as_bytes(gsl::span<const float>(&value, 1)));
  }
}

std::string hash_of(const std::vector<Tensor>& tensors) {
  std::uint64_t hash = fnv_basis;
  for (const Tensor& tensor : tensors) fold_elements(hash, tensor);
  for (std::size_t leaf = 0; leaf < 2; ++leaf)
    if (Tensor gradient = grad_of(tensors[leaf]); gradient.is_defined())
      fold_elements(hash, gradient);
  return fmt::format("{:016x}", hash);
}

InPlaceStep parsed_step(const std::string& text) {
  InPlaceStep step;
  step.is_recorded = text.front() != '!';
  std::size_t begin = step.is_recorded ? 0 : 1, at = text.find('@');
  step.name = text.substr(begin, at == std::string::npos ? at : at - begin);
  std::istringstream numbers(at == std::string::npos ? "" : text.substr(at + 1));
  for (std::int64_t number = 0; numbers >> number; numbers.ignore(1))
    step.numbers.push_back(number);
  auto function = step_functions().find(step.name);
  bool is_end = step.name == "end" && !step.numbers.empty();
  if (!is_end && (function == step_functions().end() ||
                  step.numbers.size() != function->second.tensors + function->second.numbers))
    raise(ErrorKind::value_error, program_source, "expected a step such as 'view@2', got '{}'",
          text);
  return step;
}

}  // namespace

InPlaceProgram::InPlaceProgram(const std::string& steps) {
  std::istringstream words(steps);
  for (std::string word; words >> word;) {
    if (!steps_.empty() && steps_.back().name == "end")
      raise(ErrorKind::value_error, program_source, "expected no step after 'end', got '{}'", word);
    steps_.push_back(parsed_step(word));
  }
  if (steps_.empty() || steps_.back().name != "end")
    raise(ErrorKind::value_error, program_source, "expected a last step 'end', got '{}'", steps);
}

InPlaceProgram::Result InPlaceProgram::run() const {
  std::vector<Tensor> tensors = first_tensors();
  std::int64_t at = 0;
  try {
    for (; at + 1 < std::int64_t(steps_.size()); ++at) do_step(steps_[std::size_t(at)], tensors);
    finish(steps_.back(), tensors);
  } catch (const Error& error) {
    for (const RefusalPhrase& each : refusal_phrases)
      if (error.kind() == ErrorKind::runtime_error &&
          error.message().find(each.phrase) != std::string_view::npos)
        return {.hash = {}, .refused = each.word, .at = at};
    throw;
  }
  return {.hash = hash_of(tensors), .refused = {}, .at = 0};
}

std::vector<std::string> InPlaceProgram::words() {
  std::vector<std::string> all;
  for (const RefusalPhrase& each : refusal_phrases) all.emplace_back(each.word);
  return all;
}

}  // namespace simmesh
