#pragma once

#include <functional>

#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// Embedding looks rows of weight [count, width] up by int64 indices [...]: [..., width].
class Embedding final : public Module {
 public:
  // Options are the sizes of the table.
  struct Options {
    std::int64_t count;
    std::int64_t width;
    ParameterOptions parameters = {};
  };

  explicit Embedding(const Options& options);
  Tensors forward(const Tensors& inputs) override;
};

// Position adds the first rows of weight [length, width], one a position, to x [batch, T, width].
class Position final : public Module {
 public:
  // Options are the sizes of the table.
  struct Options {
    std::int64_t length;
    std::int64_t width;
    ParameterOptions parameters = {};
  };

  explicit Position(const Options& options);
  Tensors forward(const Tensors& inputs) override;

  // Rows returns the rows of the weight that are added to an x of so many positions.
  using Rows = std::function<Tensor(const Tensor& weight, std::int64_t positions)>;
  // set_rows replaces the choice of the first rows, for instance where x is a part of a sequence.
  void set_rows(Rows rows) { rows_ = std::move(rows); }

 private:
  Rows rows_;
};

}  // namespace simmesh::nn
