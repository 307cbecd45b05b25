#pragma once

#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh {

// InPlaceStep is one step of a program of views and changes in place: a function's name and its
// arguments, of which the first are numbers of tensors.
//
//   narrow@2,0,1,1   appends the view narrow(dim 0, start 1, length 1) of tensor 2
//   !mul_@4,1        multiplies tensor 4 by tensor 1 in place, with gradients disabled
//   end@2,4          adds up tensors 2 and 4, each times its number plus one, for a backward pass
struct InPlaceStep {
  std::string name;
  std::vector<std::int64_t> numbers;
  bool is_recorded = true;
};

// InPlaceProgram is such a program. Before its steps there are four tensors: 0, a leaf of shape
// [2, 3]; 1, a leaf without dims; 2, the first leaf times 1; 3, a plain tensor of shape [2, 3].
class InPlaceProgram {
 public:
  // Raises a ValueError for steps that don't exist or lack arguments.
  explicit InPlaceProgram(const std::string& steps);

  // Result is what became of a program: the hash of all tensors and gradients; or the word
  // of a refusal, and the number of the step that was refused.
  struct Result {
    std::string hash;
    std::string refused;
    std::int64_t at = 0;
  };

  // run runs the program on this rank. Raises the Error of a step that is refused for a reason that
  // has no word.
  Result run() const;

  // words lists the words of all refusals.
  static std::vector<std::string> words();

 private:
  std::vector<InPlaceStep> steps_;
};

}  // namespace simmesh
