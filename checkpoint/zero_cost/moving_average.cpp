#include "checkpoint/zero_cost/moving_average.h"

#include <algorithm>

#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

MovingAverage::MovingAverage(std::size_t count, const Options& options)
    : kept_(float(options.coefficient)),
      taken_(float(1.0 - options.coefficient)),
      takes_first_(options.start == Start::first_value),
      average_(count, 0.0f) {
  if (!(options.coefficient >= 0 && options.coefficient <= 1))
    raise(ErrorKind::value_error, "checkpoint/moving_average",
          "expected a coefficient within [0, 1], got {}", options.coefficient);
}

void MovingAverage::restore(gsl::span<const float> averages) {
  SIMMESH_CHECK(average_.size() == averages.size(), "{} averages, expected {}", averages.size(),
                average_.size());
  std::copy(averages.begin(), averages.end(), average_.begin());
  takes_first_ = false;
}

void MovingAverage::update(gsl::span<const float> values) {
  SIMMESH_CHECK(average_.size() == values.size(), "{} values, expected {}", values.size(),
                average_.size());
  if (takes_first_) {
    std::copy(values.begin(), values.end(), average_.begin());
    takes_first_ = false;
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    float kept = kept_ * average_[i];
    float taken = taken_ * values[i];
    average_[i] = kept + taken;
  }
}

}  // namespace simmesh::checkpoint
