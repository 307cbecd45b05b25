#include "verify/typed/rank_values.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

using enum typed::SpmdType;
using Line = std::vector<Tensor>;

Tensor sum_of(const Line& line) {
  Tensor result = line[0];
  for (std::size_t i = 1; i < line.size(); ++i) result = add(result, line[i]);
  return result;
}

std::int64_t dim_of(const typed::TypeOnAxis& type) { return type.shard_dim.value_or(0); }

// The pieces of a tensor: slices of dim 0 that are taken apart for V, parts of dim d for S(d).
Line pieces_of(const Tensor& whole, const typed::TypeOnAxis& type, std::size_t count) {
  std::int64_t dim = dim_of(type), ranks = std::int64_t(count);
  bool fits = dim < whole.dim() && (type.is_shard() ? whole.shape()[std::size_t(dim)] % ranks == 0
                                                    : whole.shape()[std::size_t(dim)] == ranks);
  if (!fits)
    raise(ErrorKind::value_error, "verify/typed",
          "expected a shape that {} ranks can cut as {}, got {}", count, typed::to_string(type),
          whole.shape());
  Line pieces;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    if (type.is_shard()) {
      std::int64_t length = whole.shape()[std::size_t(dim)] / ranks;
      pieces.push_back(narrow(whole, {.dim = dim, .start = rank * length, .length = length}));
    } else {
      pieces.push_back(select(whole, 0, rank));
    }
  return pieces;
}

// Rank r gets part r of every rank, cut along one dim and joined along another one.
Line exchanged(const Line& line, const typed::Conversion& call) {
  if (!call.src.is_shard() && !call.dst.is_shard()) {
    Line result;
    for (std::size_t rank = 0; rank < line.size(); ++rank) {
      Line parts;
      for (const Tensor& from : line)
        parts.push_back(pieces_of(from, {varying}, line.size())[rank]);
      result.push_back(stack(parts));
    }
    return result;
  }
  std::int64_t cut = dim_of(call.dst), joined = dim_of(call.src);
  if (call.src.is_shard() != call.dst.is_shard()) std::swap(cut, joined);
  Line result;
  for (std::size_t rank = 0; rank < line.size(); ++rank) {
    Line parts;
    for (const Tensor& from : line)
      parts.push_back(pieces_of(from, {varying, cut}, line.size())[rank]);
    result.push_back(cat(parts, joined));
  }
  return result;
}

// A rank's own slot among zeros.
Line in_own_slots(const Line& line, const typed::TypeOnAxis& type) {
  Line result;
  for (std::size_t rank = 0; rank < line.size(); ++rank) {
    Line slots(line.size(), zeros_like(line[rank]));
    slots[rank] = line[rank];
    result.push_back(type.is_shard() ? cat(slots, *type.shard_dim) : stack(slots));
  }
  return result;
}

Line own_pieces(const Line& line, const typed::TypeOnAxis& type) {
  Line result;
  for (std::size_t rank = 0; rank < line.size(); ++rank)
    result.push_back(pieces_of(line[rank], type, line.size())[rank]);
  return result;
}

Line convert_line(const Line& line, const typed::Conversion& call) {
  if (call.dst.type == varying) return own_pieces(line, call.dst);
  if (call.dst.type != partial) return line;
  if (call.src.type == varying) return in_own_slots(line, call.src);
  Line result(line.size(), zeros_like(line[0]));
  result[0] = line[0];
  return result;
}

// Parts go back to the ranks that they came from.
Line exchanged_back(const Line& line, const typed::Conversion& call) {
  typed::Conversion back = call;
  if (call.src.is_shard() && call.dst.is_shard()) std::swap(back.src, back.dst);
  if (call.src.is_shard() != call.dst.is_shard()) {
    std::int64_t cut = dim_of(call.dst), joined = dim_of(call.src);
    std::swap(cut, joined);
    back.src = {varying, cut}, back.dst = {varying, joined};
  }
  return exchanged(line, back);
}

Line adjoint_of_convert(const Line& line, const typed::Conversion& call) {
  if (call.dst.type == varying) return in_own_slots(line, call.dst);
  if (call.dst.type != partial) return line;
  if (call.src.type == varying) return own_pieces(line, call.src);
  Line result(line.size(), zeros_like(line[0]));
  result[0] = line[0];
  return result;
}

Line adjoint_line(const Line& line, const typed::Conversion& call) {
  if (call.op == "reinterpret") return line;
  if (call.op == "convert") return adjoint_of_convert(line, call);
  if (call.op == "all_to_all") return exchanged_back(line, call);
  if (call.op == "all_gather") return pieces_of(sum_of(line), call.src, line.size());
  if (call.op == "reduce_scatter") return Line(line.size(), meaning_of(line, call.dst));
  return Line(line.size(), sum_of(line));
}

using OnLine = Line (*)(const Line& line, const typed::Conversion& call);

RankValues on_lines(const RankGrid& grid, const typed::Conversion& call, const RankValues& values,
                    OnLine run) {
  RankValues result(values.size());
  for (const std::vector<std::size_t>& ranks : grid.lines(call.axes)) {
    Line line;
    for (std::size_t rank : ranks) line.push_back(values[rank]);
    Line done = run(line, call);
    for (std::size_t i = 0; i < ranks.size(); ++i) result[ranks[i]] = done[i];
  }
  return result;
}

Line run_line(const Line& line, const typed::Conversion& call) {
  if (call.op == "reinterpret") return line;
  if (call.op == "convert") return convert_line(line, call);
  if (call.op == "all_to_all") return exchanged(line, call);
  if (call.op == "all_gather") return Line(line.size(), meaning_of(line, call.src));
  Tensor sum = sum_of(line);
  if (call.op == "reduce_scatter") return pieces_of(sum, call.dst, line.size());
  return Line(line.size(), sum);
}

}  // namespace

RankGrid::RankGrid(std::vector<typed::MeshAxis> axes) : axes_(std::move(axes)) {
  for (const typed::MeshAxis& axis : axes_) count_ *= std::size_t(axis.size);
}

std::int64_t RankGrid::coordinate(std::size_t rank, const std::string& axis) const {
  auto rest = std::int64_t(rank);
  for (std::size_t i = axes_.size(); i-- > 0;) {
    if (axes_[i].name == axis) return rest % axes_[i].size;
    rest /= axes_[i].size;
  }
  raise(ErrorKind::key_error, "verify/typed", "expected an axis of the mesh, got '{}'", axis);
}

std::vector<std::vector<std::size_t>> RankGrid::lines(const std::vector<std::string>& axes) const {
  auto is_along = [&](const typed::MeshAxis& axis) {
    return std::find(axes.begin(), axes.end(), axis.name) != axes.end();
  };
  std::vector<std::vector<std::size_t>> lines;
  std::vector<std::vector<std::int64_t>> places;
  for (std::size_t rank = 0; rank < count_; ++rank) {
    std::vector<std::int64_t> place;
    for (const typed::MeshAxis& axis : axes_)
      if (!is_along(axis)) place.push_back(coordinate(rank, axis.name));
    auto found = std::find(places.begin(), places.end(), place);
    if (found == places.end()) {
      places.push_back(place);
      lines.push_back({rank});
    } else {
      lines[std::size_t(found - places.begin())].push_back(rank);
    }
  }
  return lines;
}

std::string RankGrid::name_of(std::size_t rank) const {
  std::vector<std::string> places;
  for (const typed::MeshAxis& axis : axes_)
    places.push_back(fmt::format("{} {}", axis.name, coordinate(rank, axis.name)));
  return fmt::format("rank ({})", join_text(places, ", "));
}

Tensor meaning_of(const std::vector<Tensor>& line, const typed::TypeOnAxis& type) {
  if (type.is_shard()) return cat(line, *type.shard_dim);
  if (type.type == varying) return stack(line);
  return type.type == partial ? sum_of(line) : line[0];
}

RankValues run_conversion(const RankGrid& grid, const typed::Conversion& call,
                          const RankValues& values) {
  typed::ResolvedConversion work = typed::resolved(call);
  if (work.is_idle) return values;
  return on_lines(grid, work.call, values, run_line);
}

RankValues adjoint_of(const RankGrid& grid, const typed::Conversion& call,
                      const RankValues& gradient) {
  typed::ResolvedConversion work = typed::resolved(call);
  return work.is_idle ? gradient : on_lines(grid, work.call, gradient, adjoint_line);
}

bool same_values(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  Tensor first = to(a, DType::float64).contiguous(), second = to(b, DType::float64).contiguous();
  auto x = first.values<double>(), y = second.values<double>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  return true;
}

}  // namespace simmesh
