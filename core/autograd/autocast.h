#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/ops/input_conversion.h"
#include "core/tensor/dtype.h"

namespace simmesh {

// AutocastPolicy is the dtype in which an op runs under autocast: that of the scope, float32, or
// that of its inputs.
enum class AutocastPolicy : std::uint8_t { lower, float32, as_given };

// autocast_policy returns the policy of an op by its name, from PyTorch's lists for the CPU:
// products, convolutions and attention are lower; losses, decompositions and prod float32.
AutocastPolicy autocast_policy(std::string_view op);

// Autocast converts the floating inputs of each op in its scope as the op's policy says, as
// torch.autocast does on the CPU; float64 stays. Conversions are on the tape, so gradients come
// back in the dtype of the tensor that was given. A float32 leaf that requires a gradient is
// converted once in a scope: the gradients of all its uses are added in the lower dtype. A backward
// pass outside of the scope has the dtypes that forward chose.
//
//   Autocast scope(DType::bfloat16);
//   Tensor y = linear(x, weight);   // bfloat16
class Autocast {
 public:
  // Raises a ValueError for a dtype other than bfloat16 and float16.
  explicit Autocast(DType dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

  // Remembered knows the innermost scope of the place where it is made: for code that runs a part
  // of forward again.
  class Remembered {
   public:
    Remembered();
    // reopen returns the scope, null where none was open.
    std::unique_ptr<Autocast> reopen() const;

   private:
    DType dtype_ = DType::float32;
    bool is_open_ = false;
  };

 private:
  struct Kept;

  DType dtype_;
  std::unique_ptr<Kept> kept_;
  Autocast* outer_;
  InputConversion conversion_;
};

}  // namespace simmesh
