#include "verify/typed/program_values.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <vector>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"
#include "verify/typed/local_op.h"
#include "verify/typed/rank_values.h"
#include "verify/typed/value_judge.h"

namespace simmesh {

namespace {

using enum typed::SpmdType;
using typed::TypedTensor;
using Shared = std::shared_ptr<RankValues>;

// Rounding is relative to what the sums add up: 2^-53 in each of fewer than 2^10 operations that
// lie between an input and a gradient, of magnitudes that differ by less than 2^10 in these
// programs.
constexpr double rounding = 0x1p-33;

// A step with the values that it ran on and gave.
struct Executed {
  const TypedStep* step;
  std::vector<Shared> in;  // null for a number
  Shared out;
};

bool is_sum_or_whole(typed::SpmdType type) { return type == replicate || type == invariant; }

class ProgramRun {
 public:
  explicit ProgramRun(const TypedProgram& program)
      : program_(program), grid_(program.context.axes) {}

  std::optional<std::string> find() {
    NoGrad scope;
    for (const std::string& name : program_.inputs) values_[name] = input_values(name);
    for (std::size_t i = 0; i < program_.steps_done; ++i) {
      const TypedStep& step = program_.steps[i];
      if (step.call.is_local())
        if (auto found = counter_example(step.call, step.outcome, program_.context))
          return fmt::format("step {}, {}: {}", i, step.call.op, *found);
      if (step.call.op == "backward") {
        if (auto found = check_gradients(*step.in[0])) return found;
      } else {
        execute(step);
      }
    }
    return check_equal_ranks();
  }

 private:
  // Values lie between 1/4 and 5/4, where roots, logarithms and quotients are defined.
  Shared input_values(const std::string& name) const {
    const TypedValue& value = *input_of(name);
    auto values = std::make_shared<RankValues>();
    for (std::size_t rank = 0; rank < grid_.count(); ++rank) {
      std::uint64_t seed = std::hash<std::string>()(name) % 4096;
      for (const typed::MeshAxis& axis : grid_.axes()) {
        auto type = value.tensor.type_on(axis.name);
        bool is_alike = !type || is_sum_or_whole(*type);
        seed = seed * 64 + std::uint64_t(is_alike ? 0 : grid_.coordinate(rank, axis.name));
      }
      values->push_back(tensor_of(value, seed));
    }
    return values;
  }

  const TypedValue* input_of(const std::string& name) const { return program_.value(name).get(); }

  static Tensor tensor_of(const TypedValue& value, std::uint64_t seed) {
    Tensor result = empty(value.tensor.shape, DType::float64);
    auto elements = result.mutable_values<double>();
    bool is_floating = is_floating_point(value.dtype);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      std::uint64_t word = formula_word(seed, i);
      elements[i] = is_floating ? 0.25 + double(word % 64) / 64 : double(word % 2);
    }
    return is_floating ? result : to(result, value.dtype);
  }

  std::vector<PythonValue> operands_at(const TypedStep& step, const std::vector<Shared>& in,
                                       std::size_t rank) const {
    std::vector<PythonValue> operands;
    for (std::size_t i = 0; i < in.size(); ++i)
      operands.push_back(in[i] ? PythonValue((*in[i])[rank])
                               : PythonValue(step.call.operands[i].number));
    return operands;
  }

  // Ranks get tensors of their own, which one of them may write.
  RankValues converted(const typed::Conversion& call, const RankValues& values) const {
    RankValues result = run_conversion(grid_, call, values);
    for (std::size_t rank = 0; rank < result.size(); ++rank)
      if (result[rank].storage() != values[rank].storage()) result[rank] = clone(result[rank]);
    return result;
  }

  void execute(const TypedStep& step) {
    Executed done{.step = &step, .in = {}, .out = std::make_shared<RankValues>()};
    for (const auto& name : step.in) done.in.push_back(name ? values_.at(*name) : nullptr);
    if (step.call.is_local())
      for (std::size_t rank = 0; rank < grid_.count(); ++rank)
        done.out->push_back(
            run_local_op(step.call.op, operands_at(step, done.in, rank), step.call.args, rank + 1)
                .front());
    else if (typed::is_conversion(step.call.op))
      *done.out = converted(step.call.conversion(), *done.in[0]);
    else
      *done.out = *done.in[0];
    if (step.writes_operand()) {
      for (std::size_t rank = 0; rank < grid_.count(); ++rank)
        if ((*done.in[0])[rank].storage() != (*done.out)[rank].storage())
          copy_from_((*done.in[0])[rank], (*done.out)[rank]);
      done.out = done.in[0];
    }
    if (step.out) values_[*step.out] = done.out;
    tape_.push_back(std::move(done));
  }

  std::optional<std::string> check_equal_ranks() const {
    for (const auto& [name, values] : values_)
      for (const typed::MeshAxis& axis : grid_.axes()) {
        auto type = program_.value(name)->tensor.type_on(axis.name);
        if (!type || !is_sum_or_whole(*type)) continue;
        for (const std::vector<std::size_t>& ranks : grid_.lines({axis.name}))
          for (std::size_t rank : ranks)
            if (!same_values((*values)[ranks[0]], (*values)[rank]))
              return fmt::format("{} is {} on {}, but {} and {} hold other values", name,
                                 typed::letter_of(*type), axis.name, grid_.name_of(ranks[0]),
                                 grid_.name_of(rank));
      }
    return std::nullopt;
  }

  // The gradients of the values by tensor; none where nothing came.
  using Gradients = std::map<const RankValues*, RankValues>;

  // The loss counts once along axes on which it is invariant. The types' own backward pass starts
  // with 1 on every rank.
  RankValues first_gradient(const std::string& loss, bool is_derivative) const {
    RankValues result;
    for (std::size_t rank = 0; rank < grid_.count(); ++rank) {
      bool counts = true;
      for (const typed::MeshAxis& axis : grid_.axes())
        if (program_.value(loss)->tensor.type_on(axis.name) == invariant)
          counts &= grid_.coordinate(rank, axis.name) == 0;
      const Tensor& value = (*values_.at(loss))[rank];
      result.push_back(full(value.shape(), DType::float64, counts || !is_derivative ? 1 : 0));
    }
    return result;
  }

  static void accumulate(Gradients& gradients, const RankValues* value, const RankValues& more) {
    auto found = gradients.find(value);
    if (found == gradients.end()) {
      gradients[value] = more;
      return;
    }
    for (std::size_t rank = 0; rank < more.size(); ++rank)
      found->second[rank] = add(found->second[rank], more[rank]);
  }

  // The gradient of each operand of an operation, on every rank.
  void pull_back_local(const Executed& done, const RankValues& gradient,
                       Gradients& gradients) const {
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < done.in.size(); ++i)
      if (done.in[i] && done.step->call.operands[i].local.tensor.requires_grad) wanted.push_back(i);
    std::map<std::size_t, RankValues> parts;
    for (std::size_t rank = 0; rank < grid_.count(); ++rank) {
      std::vector<PythonValue> operands = operands_at(*done.step, done.in, rank);
      std::vector<Tensor> leaves;
      for (std::size_t i : wanted) {
        leaves.push_back((*done.in[i])[rank].detach());
        set_requires_grad(leaves.back());
        operands[i] = leaves.back();
      }
      std::vector<Tensor> grads =
          local_gradient(*done.step, std::move(operands), leaves, gradient[rank]);
      for (std::size_t k = 0; k < wanted.size(); ++k)
        parts[wanted[k]].push_back(grads[k].is_defined() ? grads[k] : zeros_like(leaves[k]));
    }
    for (const auto& [i, part] : parts) accumulate(gradients, done.in[i].get(), part);
  }

  static std::vector<Tensor> local_gradient(const TypedStep& step,
                                            std::vector<PythonValue> operands,
                                            const std::vector<Tensor>& leaves,
                                            const Tensor& gradient) {
    GradMode scope(true);
    Tensor result = run_local_op(step.call.op, std::move(operands), step.call.args).front();
    if (!result.requires_grad()) return std::vector<Tensor>(leaves.size());
    return grad(std::vector<Tensor>{result}, leaves,
                {.gradients = {to(gradient, result.dtype())}, .allow_unused = true});
  }

  // The backward calls that belong to the types.
  RankValues pull_back_typed(const Executed& done, RankValues gradient) const {
    for (const typed::BackwardCall& call : done.step->outcome.backward)
      gradient = run_conversion(grid_,
                                {.op = call.op,
                                 .src = call.src,
                                 .dst = call.dst,
                                 .axes = done.step->call.axes,
                                 .is_expert = true},
                                gradient);
    return gradient;
  }

  Gradients gradients_of(const std::string& loss, bool is_derivative) const {
    Gradients gradients;
    gradients[values_.at(loss).get()] = first_gradient(loss, is_derivative);
    for (std::size_t i = tape_.size(); i-- > 0;) {
      const Executed& done = tape_[i];
      auto found = gradients.find(done.out.get());
      if (found == gradients.end() || done.step->writes_operand()) continue;
      if (!done.step->outcome.results[0].requires_grad) continue;
      RankValues gradient = found->second;
      if (done.step->call.is_local())
        pull_back_local(done, gradient, gradients);
      else
        accumulate(gradients, done.in[0].get(),
                   is_derivative ? adjoint_of(grid_, done.step->call.conversion(), gradient)
                                 : pull_back_typed(done, gradient));
    }
    return gradients;
  }

  static double largest(const Gradients& gradients) {
    double result = 0;
    for (const auto& [value, of_ranks] : gradients)
      for (const Tensor& gradient : of_ranks) {
        Tensor wide = to(gradient, DType::float64).contiguous();
        for (double x : wide.values<double>())
          if (std::isfinite(x)) result = std::max(result, std::fabs(x));
      }
    return result;
  }

  static bool are_near(const Tensor& a, const Tensor& b, double bound) {
    if (a.shape() != b.shape()) return false;
    Tensor first = a.contiguous(), second = b.contiguous();
    auto x = first.values<double>(), y = second.values<double>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      bool are_both_nan = std::isnan(x[i]) && std::isnan(y[i]);
      if (!are_both_nan && !(std::fabs(x[i] - y[i]) <= bound)) return false;
    }
    return true;
  }

  std::optional<std::string> check_gradients(const std::string& loss) const {
    Gradients typed_ones = gradients_of(loss, false), derivatives = gradients_of(loss, true);
    double bound = rounding * std::max(largest(typed_ones), largest(derivatives));
    for (const auto& [name, values] : values_) {
      auto of_types = typed_ones.find(values.get()), exact = derivatives.find(values.get());
      if (of_types == typed_ones.end() || exact == derivatives.end()) continue;
      const TypedTensor& tensor = program_.value(name)->tensor;
      if (auto found = compare(name, tensor, of_types->second, exact->second, bound)) return found;
    }
    return std::nullopt;
  }

  // Brings both to one form: along R axes gradients are summed, along I axes derivatives are, since
  // a change of the value is one on all ranks.
  std::optional<std::string> compare(const std::string& name, const TypedTensor& tensor,
                                     RankValues gradient, RankValues derivative,
                                     double bound) const {
    for (const typed::MeshAxis& axis : grid_.axes()) {
      auto type = tensor.type_on(axis.name);
      if (!type || *type == varying) continue;
      if (*type == replicate) gradient = summed(gradient, axis.name);
      if (*type != partial) derivative = summed(derivative, axis.name);
    }
    for (std::size_t rank = 0; rank < grid_.count(); ++rank)
      if (!are_near(gradient[rank], derivative[rank], bound))
        return fmt::format(
            "the gradient of {} on {} is another one than the derivative of the loss", name,
            grid_.name_of(rank));
    return std::nullopt;
  }

  RankValues summed(const RankValues& values, const std::string& axis) const {
    RankValues result(values.size());
    for (const std::vector<std::size_t>& ranks : grid_.lines({axis})) {
      std::vector<Tensor> line;
      for (std::size_t rank : ranks) line.push_back(values[rank]);
      Tensor sum = meaning_of(line, {partial});
      for (std::size_t rank : ranks) result[rank] = sum;
    }
    return result;
  }

  const TypedProgram& program_;
  RankGrid grid_;
  std::map<std::string, Shared> values_;
  std::vector<Executed> tape_;
};

// Pieces are exchanged only where every dim of every value can be cut evenly.
bool can_run(const TypedProgram& program) {
  std::int64_t ranks = rank_count(program.context.axes);
  for (std::size_t i = 0; i < program.steps_done; ++i) {
    const TypedStep& step = program.steps[i];
    if (!typed::is_conversion(step.call.op)) continue;
    const Shape& shape = step.call.operands[0].local.tensor.shape;
    if (std::any_of(shape.begin(), shape.end(),
                    [&](std::int64_t size) { return size % ranks != 0 && size != 1; }))
      return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> program_counter_example(const TypedProgram& program) {
  if (!can_run(program)) return std::nullopt;
  return ProgramRun(program).find();
}

}  // namespace simmesh
