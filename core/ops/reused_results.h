#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/options/arithmetic.h"
#include "core/engine/ranks/rank.h"
#include "core/ops/kept_operand.h"
#include "core/ops/op.h"
#include "core/ops/reused_reductions.h"

namespace simmesh {

// ComputedOp is a computation whose result depends on nothing but this: a kernel, or the gradient
// rule of an op, on plain tensors that aren't on the tape. An undefined operand is an absent one.
struct ComputedOp {
  enum class Part : std::uint8_t { kernel, gradient };

  const Op& op;
  Part part;
  const Attributes& attributes;
  gsl::span<const Tensor> operands;
  gsl::span<const TensorType> types = {};  // of the op's inputs, for a gradient rule
  std::uint64_t flags = 0;                 // for a gradient rule: what it is asked for
};

// ReusedResults has the results of the ranks of a program that is run many times, as by an
// exploration: what a rank computes again at the same place of its program, from operands of the
// same bits, is taken from the first run that did so, without computing. So are reductions of
// operands of the same bits, by whichever rank. A World's runs get the same tensors and hashes as
// without it; only buffers, and the temporary tensors of gradient rules, are fewer.
//
//   ReusedResults results(world.ranks(), 256 << 20);
//   world.run([&](Rank& rank) {
//     ReusedResults::Scope scope(results);
//     train(rank);
//   });
//
// One World at a time uses it. Each rank only uses its own part, so its threads need no lock; the
// reductions have one.
class ReusedResults {
 public:
  class Line;

  // bytes_max bounds the bytes of the buffers that are kept, those of reductions apart. What comes
  // later is computed in each run.
  ReusedResults(std::size_t ranks, std::size_t bytes_max);
  ~ReusedResults();
  ReusedResults(const ReusedResults&) = delete;
  ReusedResults& operator=(const ReusedResults&) = delete;

  // Scope lets the rank that runs use the results from here on, from the begin of its program. It
  // has no effect where something looks at each kernel: a clock, or an OpObserver around it.
  class Scope {
   public:
    explicit Scope(ReusedResults& results);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

  // reused counts the computations and reductions that were not made again, in all runs so far.
  std::uint64_t reused() const;

 private:
  std::vector<std::unique_ptr<Line>> lines_;  // by rank
  ReusedReductions reductions_;
};

// Line is the computations of one rank in the order of its program, and how far a run has come.
class ReusedResults::Line {
 public:
  // active returns the line of the rank that runs, null outside of a Scope.
  static Line* active();

  explicit Line(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  void begin();

  // run returns the results of the next computation, which it makes by `compute` unless they are
  // known. A computation may have others within it. Its results are kept if they are plain tensors
  // with storages of their own, and if it had nothing to do with other ranks.
  template <class Compute>
  std::vector<Tensor> run(const ComputedOp& computed, const Compute& compute) {
    Next next = go_on(computed);
    if (next.known) return *std::move(next.known);
    std::optional<Pause> pause;
    if (next.has_other_operands) pause.emplace();
    std::uint64_t operations = this_rank().operations();
    std::vector<Tensor> results = compute();
    if (next.place && this_rank().operations() == operations) keep(*next.place, computed, results);
    return results;
  }

  std::uint64_t reused() const { return reused_; }

 private:
  // Pause hides the line in its scope, for a computation whose operands aren't those that are
  // known: what is within it may differ, too.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Line* hidden_;
  };
  // Next is what is known of the next computation, or else the place for its results.
  struct Next {
    std::optional<std::vector<Tensor>> known;
    std::optional<std::size_t> place;
    bool has_other_operands = false;
  };
  struct Result {
    BufferPtr buffer;  // null for an undefined tensor
    std::size_t begin = 0, bytes = 0;
    DType dtype = DType::float32;
    Shape shape;
    Strides strides;
    std::int64_t offset = 0;
  };
  struct Entry {
    const Op* op;
    ComputedOp::Part part;
    bool has_results = false;
    bool keeps_unrounded;
    std::uint64_t flags;
    Arithmetic arithmetic;
    Attributes attributes;
    std::vector<KeptOperand> operands;
    TensorTypes types;
    std::vector<Result> results;
    std::size_t bytes = 0;  // of operands and results
  };

  static bool is_same(const Entry& entry, const ComputedOp& computed);
  static std::vector<Tensor> tensors_of(const Entry& entry);
  Next go_on(const ComputedOp& computed);
  void fetch_ahead() const;
  void keep(std::size_t place, const ComputedOp& computed, gsl::span<const Tensor> results);

  std::size_t bytes_max_, bytes_ = 0;
  std::vector<Entry> entries_;
  std::size_t next_ = 0;
  bool is_in_step_ = true;  // with the program of the first run
  bool is_full_ = false;
  std::uint64_t reused_ = 0;
};

}  // namespace simmesh
