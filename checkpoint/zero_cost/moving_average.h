#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

namespace simmesh::checkpoint {

// MovingAverage keeps the exponential moving average of float32 values, as the writer of zero-cost
// checkpoints does: average = c * average + (1 - c) * value, where c and 1 - c are rounded to
// float32, and each product and the sum as well.
class MovingAverage {
 public:
  enum class Start : std::uint8_t {
    zeros,        // without any correction later
    first_value,  // the first update takes the values as they are
  };

  struct Options {
    double coefficient = 0;
    Start start = Start::zeros;
  };

  // An average of so many values, zeros before the first update. Raises a ValueError for a
  // coefficient outside [0, 1].
  MovingAverage(std::size_t count, const Options& options);

  // update takes that many values in.
  void update(gsl::span<const float> values);
  gsl::span<const float> values() const { return average_; }
  // restore takes that many averages of an earlier run, which go on from there.
  void restore(gsl::span<const float> averages);

 private:
  float kept_, taken_;
  bool takes_first_;  // the next values as they are
  std::vector<float> average_;
};

}  // namespace simmesh::checkpoint
