#pragma once

// Like lanes.h: the table of one instruction set.
namespace simmesh::SIMMESH_KERNELS {
namespace {

inline constexpr Kernels table = {
    .float_tile = {chain_rows, tile_vectors, lanes_of<float>},
    .double_tile = {chain_rows, tile_vectors, lanes_of<double>},
    .chain_float = chain<float>,
    .chain_double = chain<double>,
    .pack_float = pack<float>,
    .pack_double = pack<double>,
    .wide_tile = {wide_rows, wide_vectors, wide_lanes},
    .wide_chain = wide_tile,
    .widen_panel = widen_panel,
    .round_wide = round_wide,
    .triple_sums_float = triple_sums<float>,
    .triple_sums_double = triple_sums<double>,
    .magnitude_ranges = magnitude_ranges,
    .slice_off = slice_off,
    .line_sums = line_sums,
    .sliced_tile = sliced_tile,
    .chain_integers = chain_integers,
    .place_tile = place_tile,
    .finish_digits = finish_digits,
    .add_pairs = pair_block<PairSum>,
    .multiply_pairs = pair_block<PairProduct>,
    .pairs_of_digits = pairs_of_digits,
    .odd_quotients = odd_quotients,
    .exact_fold_float = exact_fold<float>,
    .exact_fold_double = exact_fold<double>,
    .chain_lines_float = chain_lines<float>,
    .chain_lines_double = chain_lines<double>,
    .functions_float = apply<float>,
    .functions_double = apply<double>,
    .power_magnitude = power_magnitude,

    .combine_of = kernel_of<Combines>,
    .fold_of = kernel_of<Folds>,
    .scale = scale,
    .divide = divide,
    .convert = convert_any,
    .copy_plane = copy_plane,
};

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
