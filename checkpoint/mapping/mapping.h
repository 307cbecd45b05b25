#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/mapping/mapped_tensor.h"
#include "checkpoint/mapping/statement.h"
#include "checkpoint/mapping/stored_shape.h"

namespace simmesh::checkpoint {

// Mapping lists the tensors that can be loaded from stored ones under a list of statements.
// Statements run in order and see the results of earlier ones. A name that a statement made hides a
// stored one.
//
// A statement also runs for optimiser states, if all names on its left have them stored with one of
// Paddle's endings: ".w_0", ".moment1_0", ".moment2_0", ".beta1_pow_acc_0", ".beta2_pow_acc_0".
// Powers are taken over as they are, and states in float32 are not cast.
class Mapping {
 public:
  // Raises a ValueError that shows the statement for names that aren't stored, for shapes that
  // don't fit, and for sizes that can't be cut into equal parts.
  Mapping(const std::vector<std::string>& statements,
          const std::map<std::string, StoredShape>& stored);

  // find returns the description of a tensor, null if neither a statement nor a stored tensor gives
  // it.
  const MappedTensor* find(const std::string& name) const;
  // is_left_alone is true if a statement "_ -> name" keeps the target as it is.
  bool is_left_alone(const std::string& name) const;
  // is_used is true if a statement has a stored tensor on its left.
  bool is_used(const std::string& stored) const;

 private:
  void run(const Statement& statement);
  void run_states(const Statement& statement);
  void apply(const Statement& statement);
  std::vector<MappedTensor> taken(const Statement& statement) const;

  std::map<std::string, StoredShape> stored_;
  std::map<std::string, MappedTensor> tensors_;
  std::map<std::string, bool> left_alone_, used_;
};

}  // namespace simmesh::checkpoint
