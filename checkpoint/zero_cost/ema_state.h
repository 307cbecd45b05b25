#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/zero_cost/moving_average.h"

namespace simmesh::checkpoint {

// EmaOptions are the options of the average that a writer keeps of float32 parameters and masters.
// A step counts if the interval divides its number and, with a threshold, if its loss is below it.
struct EmaOptions {
  double decay = 0.999;
  std::int64_t interval = 1;
  std::optional<double> loss_threshold = {};
  // Zeros, as in PaddleNLP's zero-cost checkpoints, or the first values, as in its other ones.
  MovingAverage::Start start = MovingAverage::Start::zeros;

  // is_due is true if a step counts. Raises a ValueError for a threshold without a loss.
  bool is_due(std::int64_t step, const std::optional<double>& loss) const;
};

// EmaState keeps the averages of a rank's part of a StateDict: of the float32 tensors under
// "model." and "master.". An element's average depends on its own values only, so the averages have
// the bits of one device in any layout.
class EmaState {
 public:
  // Raises a ValueError for a decay outside [0, 1] and an interval below 1.
  explicit EmaState(const EmaOptions& options);

  // averaged_name returns the name of an entry's average: "ema.weight" for "model.weight" and
  // "master.weight"; nullopt if the entry has no average.
  static std::optional<std::string> averaged_name(const StateDict::Entry& entry);

  // update adds the values of a state to the averages. Raises a ValueError if there are none.
  void update(const StateDict& state);
  // add_to appends a tensor of averages for each entry that has one, in the entry's layout, and the
  // number of updates, "ema.updates". add_to_load appends the same for a load to fill. The next
  // update continues from there, and this must outlive the state.
  void add_to(StateDict& state);
  void add_to_load(StateDict& state);

  std::int64_t updates() const { return updates_; }

 private:
  MovingAverage& average_of(const std::string& name, std::size_t count);
  std::map<std::string, Tensor> add_averages(StateDict& state);
  void take_loaded();

  EmaOptions options_;
  std::map<std::string, MovingAverage> averages_;
  std::int64_t updates_ = 0;
  // The rank's part of the averages that a load fills, by name.
  std::map<std::string, Tensor> to_load_;
  bool is_loaded_ = false;
};

}  // namespace simmesh::checkpoint
