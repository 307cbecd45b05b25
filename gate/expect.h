#pragma once

#include <any>
#include <cstdint>
#include <string>
#include <vector>

#include "gate/tables/parallel.h"
#include "gate/tables/world.h"

namespace simmesh {

// GateSameAs is another run that must give the same bits: the gate's model and data on another
// mesh, in another form of parallelism.
struct GateSameAs {
  GateLayout layout;
  GateParallel parallel;
  std::string word;   // as GateParallel::form returns them; empty for a table
  std::string place;  // FILE:LINE:COLUMN of the entry

  // name returns "same_as fsdp", or "same_as fsdp on [2, 4]" for a table.
  std::string name() const;
};

// GateEvents are the events of sharding that one rank must go through in one step, as
// fsdp::to_string writes them: "(unshard, block0, forward, sync)". An empty list checks nothing.
struct GateEvents {
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::vector<std::string> list;
};

// GateExpect is the table [expect]. It has members for the values that others than their check use,
// such as the number of runs. A check keeps all its other values as a type of its own. A key at its
// default checks nothing.
class GateExpect {
 public:
  std::vector<GateSameAs> same_as;
  std::int64_t schedules = 1;
  std::string hash;
  GateEvents events;

  // own returns the value that a check keeps, by its type: the default if there is none.
  template <class T>
  const T& own() const {
    for (const std::any& value : own_)
      if (const T* found = std::any_cast<T>(&value)) return *found;
    static const T none;
    return none;
  }
  // set_own keeps such a value. Each type has at most one.
  template <class T>
  void set_own(T value) {
    own_.emplace_back(std::move(value));
  }

 private:
  std::vector<std::any> own_;
};

// ExpectUse has the parts of the gate on which the table depends.
struct ExpectUse {
  const GateLayout& layout;
  const GateParallel& parallel;
  const nn::ModelNode& model;  // without checkpointing
  std::int64_t steps;
  const GateWorld& world;
  bool has_device;
};

// read_other_run reads a table with mesh, names and parallel.
GateSameAs read_other_run(GateTable table, const ExpectUse& use);

// read_gate_expect reads the table: the keys of every CheckKind.
GateExpect read_gate_expect(GateTable& table, const ExpectUse& use);

}  // namespace simmesh
