#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// A convolution of a batch `n` of images with `c` channels by `m` filters. The dims of image and
// filter share their letters, although their sizes differ: this is how Paddle merges them. Channels
// that are cut alike in both leave the output partial.
SpmdAnswer convolution(const SpmdCall& call, std::string_view spatial) {
  const SpmdTensor& image = call.tensor(0);
  const SpmdTensor& filter = call.tensor(1);
  std::size_t dims = spatial.size() + 2;
  if (image.shape.size() != dims || filter.shape.size() != dims)
    refuse_argument(call, "The Tensor Input's rank must be {0} in {1}: expected {0} dims, got {2}",
                    dims, call.op, simmesh::to_string(image.shape));
  Dims image_dims = call.single(image), filter_dims = call.single(filter);
  if (image_dims[1] != filter_dims[1])
    refuse_argument(call,
                    "The Input channel's dims mapping must be equal to filter channel's dims "
                    "mapping in {}. When shard channel dim to a mesh (multiple cards), each card "
                    "will compute partial output, otherwise, mark channel dim as replicate, each "
                    "card will compute complete output. But now the Input channel's dims mapping "
                    "is [{}], and the filter channel's dims mapping is [{}].",
                    call.op, image_dims[1], filter_dims[1]);
  std::string image_axes = fmt::format("nc{}", spatial);
  std::string filter_axes = fmt::format("mc{}", spatial);
  AxisMeshDims merged = merge_axes(call, {{image_axes, image_dims}, {filter_axes, filter_dims}});
  return {.inputs = {merged.attr(image_axes), merged.attr(filter_axes)},
          .outputs = {merged.partial_attr(fmt::format("nm{}", spatial))}};
}

SpmdAnswer conv2d(const SpmdCall& call) { return convolution(call, "hw"); }
SpmdAnswer conv3d(const SpmdCall& call) { return convolution(call, "dhw"); }

constexpr NamedSpmdRule convolution_rules[] = {{"conv2d", conv2d}, {"conv3d", conv3d}};

}  // namespace

gsl::span<const NamedSpmdRule> convolution_spmd_rules() { return convolution_rules; }

}  // namespace simmesh::paddle
