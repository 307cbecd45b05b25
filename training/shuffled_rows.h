#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/catalog/state_dict.h"

namespace simmesh {

// ShuffledRows selects the rows of a data set for each batch: all rows in turn, in another order in
// each epoch, with fixed bits. It returns the rows of all ranks together, of which each takes its
// part, so its place doesn't depend on the number of ranks: a run on any mesh that loads the place
// continues with the rows that the saving run would have used.
//
//   ShuffledRows rows({.rows = 100, .seed = 7});
//   std::vector<std::int64_t> batch = rows.next(8);
class ShuffledRows {
 public:
  // Options say how many rows the data set has, and how they are ordered.
  struct Options {
    std::int64_t rows = 1;
    std::uint64_t seed = 0;
    bool shuffles = true;  // false: ascending in each epoch
  };
  // Place is where the next batch begins: after so many rows of an epoch.
  struct Place {
    std::int64_t epoch = 0, row = 0;

    bool operator==(const Place&) const = default;
  };

  // Raises a ValueError for a data set without rows.
  explicit ShuffledRows(const Options& options);

  // next returns the rows of the next batch. A batch that reaches the end of an epoch continues
  // with the next epoch.
  std::vector<std::int64_t> next(std::int64_t count);

  const Options& options() const { return options_; }
  const Place& place() const { return place_; }
  // set_place moves to another place. Raises a ValueError for a place that the data set doesn't
  // have.
  void set_place(const Place& place);

 private:
  void begin_epoch();

  Options options_;
  Place place_;
  std::vector<std::int64_t> order_;  // of the rows in this epoch
};

// add_data_place adds the place under the name "data", with the rows and the seed: loading the
// place of another data set raises a ValueError. The rows must outlive the state dict.
void add_data_place(checkpoint::StateDict& state, ShuffledRows& rows);

}  // namespace simmesh
