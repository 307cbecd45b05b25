#include "sharding/paddle/reshard_choice.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::paddle {

namespace {

using Fits = bool (*)(const ProcessMeshLayout& from, const ProcessMeshLayout& to);

// The kind of placement that a function named by letters takes.
enum class Letter : std::uint8_t { r, s, p };

bool has_letter(const Placement& placement, Letter letter) {
  if (letter == Letter::r) return placement.is_replicate();
  return letter == Letter::s ? placement.is_shard() : placement.is_plain_partial();
}

bool is_replicated(const ProcessMeshLayout& layout) {
  return std::all_of(layout.placements.begin(), layout.placements.end(),
                     [](const Placement& placement) { return placement.is_replicate(); });
}

template <Letter letter_from, Letter letter_to, bool crosses>
bool fits_letters(const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
  if (from.mesh_shape.size() != 1 || from.mesh_shape != to.mesh_shape) return false;
  if (from.has_mesh_of(to) == crosses) return false;
  bool changes = letter_from != letter_to || from.placements != to.placements;
  return changes && has_letter(from.placements[0], letter_from) &&
         has_letter(to.placements[0], letter_to);
}

bool fits_shrink(const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
  return from.mesh_shape.size() == 1 && to.mesh_shape.size() == 1 && from.ranks.size() > 1 &&
         to.ranks.size() == 1 && is_replicated(to);
}

bool fits_expand(const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
  return from.mesh_shape.size() == 1 && to.mesh_shape.size() == 1 && from.ranks.size() == 1 &&
         to.ranks.size() > 1 && is_replicated(from);
}

bool is_same_but_for_reduction(const Placement& left, const Placement& right) {
  return left == right || (left.is_plain_partial() && right.is_plain_partial());
}

bool fits_same_status(const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
  return from.mesh_shape == to.mesh_shape && from.ranks != to.ranks &&
         std::equal(from.placements.begin(), from.placements.end(), to.placements.begin(),
                    to.placements.end(), is_same_but_for_reduction);
}

// A reshard to a partial value knows sums only: a layout with another reduction is never equal to
// it.
bool has_other_reduction(const ProcessMeshLayout& layout) {
  return std::any_of(
      layout.placements.begin(), layout.placements.end(), [](const Placement& placement) {
        return placement.is_plain_partial() && placement.reduce_op() != ReduceOp::sum;
      });
}

bool fits_same_nd_mesh(const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
  return from.mesh_shape.size() > 1 && from.has_mesh_of(to);
}

bool fits_cross_nd_mesh(const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
  return from.mesh_shape.size() > 1 && from.mesh_shape == to.mesh_shape && from.ranks != to.ranks;
}

// True if the layouts agree, with the slice's placements written for the whole mesh.
bool agree_around(const ProcessMeshLayout& global, const ProcessMeshLayout& sub, std::size_t dim) {
  Placements placements = sub.placements;
  if (placements.size() < global.placements.size())
    placements.insert(placements.begin() + std::ptrdiff_t(dim), Replicate());
  placements[dim] = Replicate();
  return global.placements == placements;
}

bool fits_global_to_sub_mesh(const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
  std::optional<std::size_t> dim = find_sub_mesh_dim(from, to);
  return dim && agree_around(from, to, *dim);
}

bool fits_sub_mesh_to_global(const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
  return fits_global_to_sub_mesh(to, from);
}

struct Candidate {
  ReshardFunction function;
  std::string_view name;
  Fits fits;
};

constexpr Candidate candidates[] = {
    {ReshardFunction::s_to_r, "SToRReshard", fits_letters<Letter::s, Letter::r, false>},
    {ReshardFunction::s_to_r_cross_mesh, "SToRReshardCrossMesh",
     fits_letters<Letter::s, Letter::r, true>},
    {ReshardFunction::s_to_p, "SToPReshard", fits_letters<Letter::s, Letter::p, false>},
    {ReshardFunction::s_to_p_cross_mesh, "SToPReshardCrossMesh",
     fits_letters<Letter::s, Letter::p, true>},
    {ReshardFunction::r_to_s, "RToSReshard", fits_letters<Letter::r, Letter::s, false>},
    {ReshardFunction::r_to_s_cross_mesh, "RToSReshardCrossMesh",
     fits_letters<Letter::r, Letter::s, true>},
    {ReshardFunction::r_to_p, "RToPReshard", fits_letters<Letter::r, Letter::p, false>},
    {ReshardFunction::r_to_p_cross_mesh, "RToPReshardCrossMesh",
     fits_letters<Letter::r, Letter::p, true>},
    {ReshardFunction::p_to_r, "PToRReshard", fits_letters<Letter::p, Letter::r, false>},
    {ReshardFunction::p_to_r_cross_mesh, "PToRReshardCrossMesh",
     fits_letters<Letter::p, Letter::r, true>},
    {ReshardFunction::p_to_s, "PToSReshard", fits_letters<Letter::p, Letter::s, false>},
    {ReshardFunction::p_to_s_cross_mesh, "PToSReshardCrossMesh",
     fits_letters<Letter::p, Letter::s, true>},
    {ReshardFunction::s_to_s, "SToSReshard", fits_letters<Letter::s, Letter::s, false>},
    {ReshardFunction::s_to_s_cross_mesh, "SToSReshardCrossMesh",
     fits_letters<Letter::s, Letter::s, true>},
    {ReshardFunction::x_to_r_shrink, "XToRShrinkReshard", fits_shrink},
    {ReshardFunction::r_to_x_expand, "RToXExpandReshard", fits_expand},
    {ReshardFunction::same_status, "SameStatusReshard", fits_same_status},
    {ReshardFunction::same_nd_mesh, "SameNdMeshReshard", fits_same_nd_mesh},
    {ReshardFunction::cross_nd_mesh, "CrossNdMeshReshard", fits_cross_nd_mesh},
    {ReshardFunction::global_to_sub_mesh, "GlobalToSubMeshReshardFunction",
     fits_global_to_sub_mesh},
    {ReshardFunction::sub_mesh_to_global, "SubMeshToGlobalReshardFunction",
     fits_sub_mesh_to_global},
};

std::vector<std::int64_t> rank_ids(const RankList& ranks) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < ranks.size(); ++i) list.push_back(ranks[i]);
  return list;
}

}  // namespace

std::string to_string(const ProcessMeshLayout& layout) {
  std::vector<std::string> placements;
  for (const Placement& placement : layout.placements) placements.push_back(to_word(placement));
  return fmt::format("{{process_mesh: {{shape: [{}], process_ids: [{}]}}, placements: [{}]}}",
                     join_text(layout.mesh_shape, ","), join_text(rank_ids(layout.ranks), ","),
                     join_text(placements, ","));
}

std::string_view to_string(ReshardFunction function) {
  return candidates[std::size_t(function)].name;
}

std::optional<ReshardFunction> choose_reshard(const ProcessMeshLayout& from,
                                              const ProcessMeshLayout& to) {
  bool is_named_all_the_same = to.mesh_shape.size() > 1 && has_other_reduction(to);
  if (from == to && !is_named_all_the_same) return std::nullopt;
  for (const Candidate& candidate : candidates)
    if (candidate.fits(from, to)) return candidate.function;
  raise(ErrorKind::not_implemented_error, "sharding/paddle",
        "(Unimplemented) Can not reshard from in_dist_attr={} to out_dist_attr={}", to_string(from),
        to_string(to));
}

std::vector<std::int64_t> slice_of_mesh(const ProcessMeshLayout& mesh, std::size_t dim,
                                        std::int64_t coordinate) {
  std::vector<std::int64_t> ranks;
  Dims index(mesh.mesh_shape.size(), 0);
  std::int64_t position = 0;
  do {
    if (index[dim] == coordinate) ranks.push_back(mesh.ranks[position]);
    ++position;
  } while (next_index(index, mesh.mesh_shape));
  return ranks;
}

std::optional<std::size_t> find_sub_mesh_dim(const ProcessMeshLayout& global,
                                             const ProcessMeshLayout& sub) {
  std::size_t dims = global.mesh_shape.size();
  bool is_left_out = sub.mesh_shape.size() + 1 == dims;
  if (!is_left_out && sub.mesh_shape.size() != dims) return std::nullopt;
  for (std::size_t dim = 0; dim < (is_left_out ? dims - 1 : dims); ++dim) {
    Shape shape = global.mesh_shape;
    if (shape[dim] == 1) continue;
    shape[dim] = 1;
    if (is_left_out) shape.erase(shape.begin() + std::ptrdiff_t(dim));
    if (shape != sub.mesh_shape) continue;
    for (std::int64_t i = 0; i < global.mesh_shape[dim]; ++i)
      if (slice_of_mesh(global, dim, i) == rank_ids(sub.ranks)) return dim;
  }
  return std::nullopt;
}

}  // namespace simmesh::paddle
