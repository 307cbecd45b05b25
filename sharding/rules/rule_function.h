#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/ops/attributes.h"
#include "mesh/device_mesh.h"
#include "sharding/rules/rule_input.h"

namespace simmesh {

// RuleFunction is a function whose rule is judged. It computes one rank's outputs from the rank's
// pieces, and the whole outputs from whole inputs. It is made of a function of as many tensors as
// there are inputs, up to six, or of a span of tensors. It returns a tensor or a vector of them.
//
//   RuleFunction product = [](const Tensor& x, const Tensor& w) { return matmul(x, w); };
//
// A function that communicates also takes the mesh, as its last parameter. It runs on the ranks of
// a World, and for the whole outputs on a mesh of one rank.
//
//   RuleFunction gathered = [](const Tensor& x, const DeviceMesh& mesh) {
//     return all_gather(x, {.dim = 0}, process_group(mesh));
//   };
class RuleFunction {
 public:
  using Inputs = gsl::span<const Tensor>;
  using Outputs = std::vector<Tensor>;

  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, RuleFunction>) RuleFunction(F function) {
    if constexpr (tensors_of<F>() > 0)
      local_ = [function](Inputs inputs) mutable {
        return with_each(std::make_index_sequence<tensors_of<F>()>(), inputs, function);
      };
    else if constexpr (tensors_of<F, const DeviceMesh&>() > 0)
      on_ranks_ = [function](Inputs inputs, const DeviceMesh& mesh) mutable {
        return with_each(std::make_index_sequence<tensors_of<F, const DeviceMesh&>()>(), inputs,
                         function, mesh);
      };
    else if constexpr (std::is_invocable_v<F&, Inputs>)
      local_ = [function](Inputs inputs) mutable { return listed(function(inputs)); };
    else {
      static_assert(std::is_invocable_v<F&, Inputs, const DeviceMesh&>,
                    "expected a function of up to six tensors or of a span of them, and of a "
                    "DeviceMesh last if it communicates");
      on_ranks_ = [function](Inputs inputs, const DeviceMesh& mesh) mutable {
        return listed(function(inputs, mesh));
      };
    }
  }

  bool communicates() const { return on_ranks_ != nullptr; }
  // call runs the function; a mesh is needed if it communicates. Raises a ValueError for another
  // number of inputs than it takes, and a TypeError for an output without a tensor.
  Outputs call(Inputs inputs, const DeviceMesh* mesh = nullptr) const;

 private:
  static Outputs listed(Tensor output) { return {std::move(output)}; }
  static Outputs listed(Outputs outputs) { return outputs; }
  static void check_count(std::size_t expected, std::size_t got);

  template <std::size_t>
  using OneTensor = const Tensor&;

  template <class F, class... More, std::size_t... I>
  static constexpr bool takes(std::index_sequence<I...>) {
    return std::is_invocable_v<F&, OneTensor<I>..., More...>;
  }
  // Returns the number of tensors that a function takes before other parameters; 0 where it takes
  // none or more than six.
  template <class F, class... More>
  static constexpr std::size_t tensors_of() {
    if constexpr (takes<F, More...>(std::make_index_sequence<1>())) return 1;
    if constexpr (takes<F, More...>(std::make_index_sequence<2>())) return 2;
    if constexpr (takes<F, More...>(std::make_index_sequence<3>())) return 3;
    if constexpr (takes<F, More...>(std::make_index_sequence<4>())) return 4;
    if constexpr (takes<F, More...>(std::make_index_sequence<5>())) return 5;
    if constexpr (takes<F, More...>(std::make_index_sequence<6>())) return 6;
    return 0;
  }

  template <class F, class... More, std::size_t... I>
  static Outputs with_each(std::index_sequence<I...>, Inputs inputs, F& function,
                           const More&... more) {
    check_count(sizeof...(I), inputs.size());
    return listed(function(inputs[I]..., more...));
  }

  std::function<Outputs(Inputs)> local_;
  std::function<Outputs(Inputs, const DeviceMesh&)> on_ranks_;
};

// registered_op returns the function that an op of the library is. Raises a ValueError for a name
// that is no op.
RuleFunction registered_op(const std::string& name, Attributes attributes = {});

// registered_rule returns the rows that the library's strategy has for an op and inputs of such
// dims, as far as a rule's text can say them. Raises a ValueError for a name that is no op, or one
// without rows.
RuleText registered_rule(const std::string& name, gsl::span<const RuleInput> inputs,
                         const Attributes& attributes = {});

}  // namespace simmesh
