#pragma once

#include <vector>

namespace simmesh::optim {

// Momenta is the part of an optimiser that a schedule with cycled momentum sets: beta1, or the
// momentum, one number for each group.
class Momenta {
 public:
  virtual ~Momenta() = default;
  virtual void set_momenta(const std::vector<double>& momenta) = 0;

 protected:
  Momenta() = default;
  Momenta(const Momenta&) = default;
  Momenta& operator=(const Momenta&) = default;
};

// NoMomenta stands in the place of Momenta for options without a momentum: there is nothing to set.
class NoMomenta {
 public:
  virtual void set_momenta(const std::vector<double>&) {}

 protected:
  ~NoMomenta() = default;
};

// has_momentum is true for options of an optimiser that have a field beta1 or momentum.
template <class Options>
inline constexpr bool has_momentum = requires(Options options) {
  options.beta1;
}
|| requires(Options options) { options.momentum; };

// momentum_of returns beta1 where options have it, else the momentum.
template <class Options>
double& momentum_of(Options& options) {
  if constexpr (requires { options.beta1; })
    return options.beta1;
  else
    return options.momentum;
}

}  // namespace simmesh::optim
