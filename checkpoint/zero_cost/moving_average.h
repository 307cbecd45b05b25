#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

namespace simmesh::checkpoint {

// MovingAverage keeps the exponential moving average of float32 values, as PaddleNLP's writer of
// zero-cost checkpoints does: average = c * average + (1 - c) * value. c, 1 - c, both products and
// the sum are rounded to float32.
class MovingAverage {
 public:
  enum class Start : std::uint8_t {
    zeros,        // without a later correction
    first_value,  // the first update takes the values as they are
  };

  struct Options {
    double coefficient = 0;
    Start start = Start::zeros;
  };

  // Makes an average of that many values, which is zeros before the first update. Raises a
  // ValueError for a coefficient outside [0, 1].
  MovingAverage(std::size_t count, const Options& options);

  // update adds the values to the average. There must be as many.
  void update(gsl::span<const float> values);
  gsl::span<const float> values() const { return average_; }
  // restore continues from the averages of an earlier run. There must be as many.
  void restore(gsl::span<const float> averages);

 private:
  float kept_, taken_;
  bool takes_first_;  // the next update takes the values as they are
  std::vector<float> average_;
};

}  // namespace simmesh::checkpoint
