#include "collectives/spread/spread_pieces.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/arithmetic/tensor_message.h"

namespace simmesh {

namespace {

using Tensors = std::vector<Tensor>;

bool has_same_view(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.storage_offset() == b.storage_offset() &&
         a.shape() == b.shape() && a.strides() == b.strides();
}

ProcessBytes message_of(const Tensors& tensors) {
  std::size_t bytes = place_bytes_max;
  for (const Tensor& tensor : tensors) bytes += tensor_message_bytes(tensor);
  MessageWriter writer;
  writer.reserve(bytes);
  for (const Tensor& tensor : tensors) write_tensor(writer, tensor);
  return writer.take();
}

// Processes that get the same tensors share one message.
std::vector<Parcel> parcels_of(const std::vector<Tensors>& by_process) {
  std::vector<Parcel> parcels;
  for (std::size_t to = 0; to < by_process.size(); ++to) {
    const Tensors& tensors = by_process[to];
    if (tensors.empty()) continue;
    auto alike = std::find_if(parcels.begin(), parcels.end(), [&](const Parcel& parcel) {
      const Tensors& others = by_process[std::size_t(parcel.process)];
      return std::equal(tensors.begin(), tensors.end(), others.begin(), others.end(),
                        has_same_view);
    });
    ProcessBytes bytes = alike == parcels.end() ? message_of(tensors) : alike->bytes;
    parcels.push_back({int(to), std::move(bytes)});
  }
  return parcels;
}

}  // namespace

std::vector<Tensor> exchange_pieces(SpreadRun& spread, std::string_view name,
                                    const std::vector<Piece>& pieces, PieceUse use) {
  int own = spread.process();
  std::vector<Tensors> outgoing(std::size_t(spread.processes()));
  std::vector<bool> receives(outgoing.size());
  for (const Piece& piece : pieces) {
    if (piece.from == piece.to) continue;
    if (piece.from == own) outgoing[std::size_t(piece.to)].push_back(piece.tensor);
    if (piece.to == own) receives[std::size_t(piece.from)] = true;
  }
  std::vector<int> from;
  for (std::size_t i = 0; i < receives.size(); ++i)
    if (receives[i]) from.push_back(int(i));
  std::vector<ProcessBytes> received = spread.exchange(name, parcels_of(outgoing), from);
  std::vector<std::optional<MessageReader>> readers(receives.size());
  for (std::size_t i = 0; i < from.size(); ++i) readers[std::size_t(from[i])].emplace(received[i]);
  Tensors tensors(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.to != own) continue;
    auto read = use == PieceUse::operands ? view_tensor : read_tensor;
    tensors[i] = piece.from == own
                     ? piece.tensor
                     : read(*readers[std::size_t(piece.from)], piece.dtype, piece.shape);
  }
  return tensors;
}

}  // namespace simmesh
