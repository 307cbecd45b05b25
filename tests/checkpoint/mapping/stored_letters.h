#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/mapping/load_mapped.h"
#include "checkpoint/mapping/mapping.h"
#include "core/tensor/formula.h"

namespace simmesh::checkpoint::testing {

// StoredLetters are stored tensors by name, whose elements all differ.
struct StoredLetters {
  std::map<std::string, Tensor> tensors;

  StoredLetters& add(const std::string& name, const Shape& shape, DType dtype = DType::float32) {
    tensors[name] =
        formula(shape, {.rule = Rule::wide, .seed = 100 + tensors.size(), .dtype = dtype});
    return *this;
  }
  std::map<std::string, StoredShape> shapes() const {
    std::map<std::string, StoredShape> shapes;
    for (const auto& [name, tensor] : tensors) shapes[name] = {tensor.shape(), tensor.dtype()};
    return shapes;
  }
  Mapping mapping(const std::vector<std::string>& statements) const {
    return Mapping(statements, shapes());
  }
  // box_of returns a box of a tensor, contiguous.
  static Tensor box_of(Tensor tensor, const Box& box) {
    for (std::size_t dim = 0; dim < box.sizes.size(); ++dim)
      tensor = tensor.narrow({std::int64_t(dim), box.offsets[dim], box.sizes[dim]});
    return tensor.contiguous();
  }
  // load returns a box of the tensor that the statements make for a name.
  Tensor load(const std::vector<std::string>& statements, const std::string& name,
              const Box& box) const {
    Mapping made = mapping(statements);
    return load_mapped(*made.find(name), box, [&](const std::string& stored, const Box& part) {
      return box_of(tensors.at(stored), part);
    });
  }
};

}  // namespace simmesh::checkpoint::testing
