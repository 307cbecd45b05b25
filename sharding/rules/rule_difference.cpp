#include "sharding/rules/rule_difference.h"

#include <cmath>
#include <fmt/format.h>

#include "core/check/append_text.h"
#include "core/tensor/convert.h"
#include "sharding/placement/shard_rule.h"
#include "sharding/validate/crafted_pieces.h"
#include "sharding/validate/joined_pieces.h"
#include "sharding/validate/whole_of_pieces.h"

namespace simmesh {

namespace {

std::string shapes_text(gsl::span<const Tensor> tensors) {
  std::string text;
  for (const Tensor& tensor : tensors)
    append_text(text, "{}{}", text.empty() ? "" : ", ", to_string(DimSpan(tensor.shape())));
  return "[" + text + "]";
}

// Line is the tensors along one mesh dim. It returns the tensor that they stand for, or says in
// `problem` why they stand for none.
class Line {
 public:
  Line(gsl::span<const Tensor> tensors, const Placement& placement)
      : tensors_(tensors), placement_(placement) {}

  Tensor joined(std::string& problem) const {
    if (placement_.is_replicate()) return copy(problem);
    return placement_.is_partial() ? reduced(problem) : concatenated(problem);
  }

 private:
  Tensor copy(std::string& problem) const {
    for (std::size_t rank = 1; rank < tensors_.size(); ++rank)
      if (!same_elements(tensors_[rank], tensors_[0]))
        problem = fmt::format("ranks 0 and {} of a mesh dim differ", rank);
    return tensors_[0];
  }

  Tensor reduced(std::string& problem) const {
    const Tensor& first = tensors_[0];
    for (const Tensor& tensor : tensors_)
      if (tensor.shape() != first.shape() || tensor.dtype() != first.dtype())
        problem = fmt::format("the terms have the shapes {}", shapes_text(tensors_));
    if (problem.empty() && !can_craft(placement_, first.dtype()))
      problem =
          fmt::format("{} isn't defined for {}", to_string(placement_), to_string(first.dtype()));
    return problem.empty() ? reduced_pieces(tensors_, placement_.reduce_op()) : first;
  }

  // Cuts the result again: each rank must hold its own indices, and as many.
  Tensor concatenated(std::string& problem) const {
    std::int64_t dim = placement_.dim(), size = 0;
    Shape shape = tensors_[0].shape();
    for (const Tensor& tensor : tensors_) {
      if (dim >= tensor.dim()) {
        problem = fmt::format("the result has no dim {}", dim);
        return tensors_[0];
      }
      size += tensor.size(dim);
    }
    shape[std::size_t(dim)] = size;
    Tensor result = empty(shape, tensors_[0].dtype());
    IndexRuns all;
    append_run(all, {0, size});
    for (std::size_t rank = 0; rank < tensors_.size(); ++rank) {
      IndexRuns runs =
          take_share(all, placement_, {std::int64_t(tensors_.size()), std::int64_t(rank)});
      Shape expected = shape;
      expected[std::size_t(dim)] = index_count(runs);
      if (tensors_[rank].shape() != expected) {
        problem = fmt::format("the pieces have the shapes {}", shapes_text(tensors_));
        return tensors_[0];
      }
      std::int64_t at = 0;
      for (const IndexRun& run : runs) {
        Tensor target = result.narrow({.dim = dim, .start = run.start, .length = run.length});
        copy_(target, tensors_[rank].narrow({.dim = dim, .start = at, .length = run.length}));
        at += run.length;
      }
    }
    return result;
  }

  gsl::span<const Tensor> tensors_;
  const Placement& placement_;
};

// Returns an element as Python writes it.
std::string element_text(const Tensor& tensor, std::int64_t element) {
  Tensor flat = tensor.contiguous().view(Dims{tensor.numel()});
  Tensor one = flat.narrow({.dim = 0, .start = element, .length = 1}).contiguous();
  if (one.dtype() == DType::boolean) return one.values<bool>()[0] ? "True" : "False";
  if (!is_floating_point(one.dtype()))
    return fmt::format("{}", converted(one, DType::int64).values<std::int64_t>()[0]);
  double value = converted(one, DType::float64).values<double>()[0];
  std::string text = fmt::format("{}", value);
  bool is_whole = std::isfinite(value) && text.find_first_of(".e") == std::string::npos;
  return is_whole ? text + ".0" : text;
}

std::string index_text(std::int64_t element, const Shape& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    index[dim] = element % shape[dim];
    element /= shape[dim];
  }
  return to_string(DimSpan(index));
}

// Returns the first element that differs.
std::optional<std::int64_t> first_difference(const Tensor& expected, const Tensor& got) {
  Tensor a = expected.contiguous().view(Dims{expected.numel()});
  Tensor b = got.contiguous().view(Dims{got.numel()});
  for (std::int64_t i = 0; i < a.numel(); ++i)
    if (!same_elements(a.narrow({.dim = 0, .start = i, .length = 1}),
                       b.narrow({.dim = 0, .start = i, .length = 1})))
      return i;
  return std::nullopt;
}

}  // namespace

std::optional<RuleMismatch> compare_pieces(const std::string& what, const Tensor& whole,
                                           gsl::span<const Tensor> pieces, PlacementSpan placements,
                                           DimSpan mesh) {
  if (make_whole({.pieces = pieces, .placements = placements, .mesh_shape = mesh}, whole))
    return std::nullopt;
  std::vector<Tensor> tensors(pieces.begin(), pieces.end());
  for (std::size_t level = placements.size(); level-- > 0;) {
    std::size_t members = std::size_t(mesh[level]);
    std::vector<Tensor> outer;
    for (std::size_t i = 0; i < tensors.size(); i += members) {
      std::string problem;
      auto line = gsl::span<const Tensor>(tensors).subspan(i, members);
      outer.push_back(Line(line, placements[level]).joined(problem));
      if (!problem.empty()) return RuleMismatch{.what = what, .problem = problem};
    }
    tensors = std::move(outer);
  }
  const Tensor& got = tensors[0];
  if (got.shape() != whole.shape())
    return RuleMismatch{
        .what = what,
        .problem = fmt::format("expected the shape {}, got {}", to_string(DimSpan(whole.shape())),
                               to_string(DimSpan(got.shape())))};
  if (got.dtype() != whole.dtype())
    return RuleMismatch{.what = what,
                        .problem = fmt::format("expected the dtype {}, got {}",
                                               to_string(whole.dtype()), to_string(got.dtype()))};
  std::optional<std::int64_t> element = first_difference(whole, got);
  if (!element) return std::nullopt;
  return RuleMismatch{.what = what,
                      .index = index_text(*element, whole.shape()),
                      .expected = element_text(whole, *element),
                      .got = element_text(got, *element)};
}

}  // namespace simmesh
