#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/zero_cost/moving_average.h"

namespace simmesh::checkpoint {

// EmaOptions say what average the writer keeps of the float32 parameters and masters, and in which
// steps: those whose number the interval divides, and whose loss is below the threshold, if there
// is one.
struct EmaOptions {
  double decay = 0.999;
  std::int64_t interval = 1;
  std::optional<double> loss_threshold = {};
  // Zeros, as in PaddleNLP's zero-cost checkpoints, or the first values, as in its others.
  MovingAverage::Start start = MovingAverage::Start::zeros;

  // is_due raises a ValueError where there is a threshold, and no loss.
  bool is_due(std::int64_t step, const std::optional<double>& loss) const;
};

// EmaState keeps the averages of what a rank has of a StateDict: of the float32 tensors under
// "model." and "master.". An element's average depends on its own values only, so the averages have
// the bits of one device, however the tensors lie on ranks.
class EmaState {
 public:
  // Raises a ValueError for a decay outside [0, 1] and an interval below 1.
  explicit EmaState(const EmaOptions& options);

  // averaged_name returns the name of an entry's average: "ema.weight" for "model.weight" and
  // "master.weight"; nullopt for an entry that has none.
  static std::optional<std::string> averaged_name(const StateDict::Entry& entry);

  // update takes the values of a state in. Raises a ValueError where it has nothing to average.
  void update(const StateDict& state);
  // add_to appends a tensor of averages for each entry that has one, which lies as the entry does,
  // and the number of updates, "ema.updates". What add_to_load appends is to be filled by a load:
  // the next update goes on from there. This must outlive the state then.
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
  // What a load has filled, by name: the rank's part.
  std::map<std::string, Tensor> to_load_;
  bool is_loaded_ = false;
};

}  // namespace simmesh::checkpoint
