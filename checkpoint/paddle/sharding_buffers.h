#pragma once

#include <cstdint>
#include <gsl/span>
#include <optional>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

// Paddle's sharding stages keep parameters, gradients and optimiser states in flat buffers. Their
// parts begin at multiples of 256 bytes. All sizes count elements.

// buffer_alignment returns 256 bytes in elements of a dtype.
std::int64_t buffer_alignment(DType dtype);

// BufferSlice is a rank's part of a parameter in a buffer: [begin, end) of the buffer. The last
// `padding` elements are not the parameter's.
struct BufferSlice {
  std::int64_t begin = 0, end = 0, padding = 0;

  bool operator==(const BufferSlice&) const = default;
};

// ReduceScatterBuffer is the buffer of stage 1 with overlap ("V2"). Each parameter is padded to a
// multiple of the alignment times the ranks. Each rank owns an equal run of the buffer.
struct ReduceScatterBuffer {
  std::int64_t numel = 0;
  std::vector<std::int64_t> index, padded;  // of each parameter
  // For each rank and parameter; nullopt if the rank has no part of it.
  std::vector<std::vector<std::optional<BufferSlice>>> slices;
};
ReduceScatterBuffer reduce_scatter_buffer(gsl::span<const std::int64_t> numels, DType dtype,
                                          std::int64_t ranks);

// FlatBuffer has parameters one after the other, each padded to the alignment.
struct FlatBuffer {
  std::int64_t numel = 0;
  std::vector<std::int64_t> offset;
};
FlatBuffer flat_buffer(gsl::span<const std::int64_t> numels, DType dtype);

// bucket_groups puts parameters, in order, into groups. A group is closed once it has limit_bytes,
// so it may have more.
std::vector<std::vector<std::size_t>> bucket_groups(gsl::span<const std::int64_t> numels,
                                                    DType dtype, std::int64_t limit_bytes);

// whole_parameter_owners assigns whole parameters to ranks ("V1"), the largest first. Each goes to
// the rank with the fewest elements so far, the lowest of equal ones. Returns each rank's
// parameters in the order of assignment.
std::vector<std::vector<std::size_t>> whole_parameter_owners(gsl::span<const std::int64_t> numels,
                                                             std::int64_t ranks);

// row_partition cuts a matrix by rows ("V3", for optimisers that need whole rows). It returns the
// rows [begin, end) of each rank. Tensors of one dim are laid out as in a ReduceScatterBuffer.
std::vector<BufferSlice> row_partition(std::int64_t rows, std::int64_t ranks);

// FusedStates is the layout of one float32 buffer with an optimiser's state: the moments of all
// parameters, then their powers of beta, then the master weights. Each [begin, end) is padded to
// the alignment.
struct FusedStates {
  using Range = std::pair<std::int64_t, std::int64_t>;

  std::int64_t numel = 0;
  std::vector<Range> moment1, moment2, beta1_pow_acc, beta2_pow_acc, master;
};
FusedStates fused_states(gsl::span<const std::int64_t> numels);

}  // namespace simmesh::checkpoint
