#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gate/file.h"

namespace simmesh {

// ComposeLayout is one way to train a model on some ranks: a mesh, and the forms of parallelism
// over its dims.
struct ComposeLayout {
  // The forms with their numbers of ranks, from the outermost dim to the innermost:
  // "hsdp=2x2+expert@hsdp+context=2:ring:head_tail+tensor=2:sequence".
  std::string name;
  // The same without numbers: "hsdp", "expert", "context", "tensor", "sequence". A
  // pipeline has its schedule, too: "pipeline", "1F1B".
  std::vector<std::string> forms;
  GateSameAs run;

  std::int64_t ranks() const { return numel(run.layout.shape); }
};

// Misfit is a layout that a model can't train in, and the reason: the words of a gate that is
// refused.
struct Misfit {
  std::string name;
  std::string reason;
};

// RanksRange are the numbers of ranks from min to max.
struct RanksRange {
  std::int64_t min = 2;
  std::int64_t max = 16;
};

// ComposeLayouts are all layouts of a model, those with fewer ranks first, and of them those with
// fewer forms.
struct ComposeLayouts {
  std::vector<ComposeLayout> fitting;
  std::vector<Misfit> misfits;
};

// layout_forms returns all forms that layouts have.
const std::vector<std::string>& layout_forms();

// enumerate_layouts tries all layouts of a gate's model in which each rank has work of its own.
// Ranks are split among, in this order,
// - pipeline, with each schedule (pipeline=2:1F1B); a rank has two stages of those that take
// several;
// - replicate, fsdp, hsdp (fsdp over two dims) or zero of stages 1 to 3, over rows;
// - expert, of a model with experts: over a dim of its own, or over that of another form
// (expert@fsdp);
// its experts are split by tensor, or whole (expert=2:whole);
// - context, with each method and order;
// - tensor, with sequence parallelism (tensor=2:sequence) or without.
ComposeLayouts enumerate_layouts(const GateFile& gate, RanksRange ranks);

}  // namespace simmesh
