#pragma once

#include <gsl/span>
#include <type_traits>

#include "core/check/error.h"
#include "core/tensor/launch.h"
#include "core/tensor/tensor.h"

namespace simmesh::optim {

// ComputeType is the type in which an update of elements of type T computes.
template <class T>
using ComputeType = std::conditional_t<std::is_same_v<T, double>, double, float>;

// DecayFactors say how a step applies weight decay: p *= kept, and g = sign * g + added * p. Added
// decay changes the gradient, decoupled decay the parameter; maximize negates the gradient first.
struct DecayFactors {
  double sign = 1.0;
  double kept = 1.0;
  double added = 0.0;

  // of takes options with the fields lr, weight_decay and maximize.
  template <class Options>
  static DecayFactors of(const Options& options, bool is_decoupled) {
    return {.sign = options.maximize ? -1.0 : 1.0,
            .kept = is_decoupled ? 1.0 - options.lr * options.weight_decay : 1.0,
            .added = is_decoupled ? 0.0 : options.weight_decay};
  }
};

// update_elements calls f(i, values) for each element of a parameter, where values are references
// in the compute type to the elements of the tensors, in order; what f writes is rounded once to
// the tensors' dtype. Raises a TypeError for a dtype that isn't floating, and a ValueError where
// the tensors differ in shape or dtype.
template <std::size_t N, class F>
void update_elements(std::array<Tensor*, N> tensors, F&& f) {
  DType dtype = tensors[0]->dtype();
  for (Tensor* tensor : tensors)
    if (tensor->dtype() != dtype || tensor->shape() != tensors[0]->shape())
      raise(ErrorKind::value_error, "optim/update", "expected {}{}, got {}{}", to_string(dtype),
            to_string(DimSpan(tensors[0]->shape())), to_string(tensor->dtype()),
            to_string(DimSpan(tensor->shape())));
  if (!is_floating_point(dtype))
    raise(ErrorKind::type_error, "optim/update", "expected a floating dtype, got {}",
          to_string(dtype));
  if (Clock::active()) [[unlikely]] {
    std::array<Tensor, N> written;
    for (std::size_t n = 0; n < N; ++n) written[n] = *tensors[n];
    launch({.name = "optimizer_update", .writes = written});
  }
  if (!tensors[0]->has_elements()) return;
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float> ||
                  std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      std::array<T*, N> data;
      for (std::size_t n = 0; n < N; ++n) data[n] = tensors[n]->template mutable_values<T>().data();
      std::size_t count = std::size_t(tensors[0]->numel());
      for (std::size_t i = 0; i < count; ++i) {
        std::array<ComputeType<T>, N> values;
        for (std::size_t n = 0; n < N; ++n) values[n] = static_cast<ComputeType<T>>(data[n][i]);
        f(values);
        for (std::size_t n = 0; n < N; ++n) data[n][i] = static_cast<T>(values[n]);
      }
    }
  });
}

}  // namespace simmesh::optim
