#include "checkpoint/read/exchange.h"

#include <cstring>
#include <fmt/format.h>
#include <optional>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/engine/run/known.h"
#include "core/engine/world.h"
#include "core/memory/ledger.h"
#include "core/tensor/known_tensor.h"

namespace simmesh::checkpoint {

namespace {

Tensor tensor_of_bytes(Bytes bytes) {
  Tensor tensor = empty({std::int64_t(bytes.size())}, DType::uint8);
  if (!bytes.empty() && tensor.has_elements())
    std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace

std::vector<std::string> all_gather_text(const std::string& text, const ProcessGroup& group) {
  Ledger::Uncharged host;
  std::string known = known_text("a text for all ranks", [&] { return text; });
  Tensor own = tensor_of_bytes(gsl::as_bytes(gsl::span<const char>(known)));
  std::vector<std::string> texts;
  for (const Tensor& gathered : all_gather_list(own, group)) {
    Tensor tensor = known_tensor(gathered, "a text of a rank");
    texts.emplace_back(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  }
  return texts;
}

void together(const ProcessGroup& group, const std::function<void()>& work) {
  std::optional<Error> own;
  try {
    work();
  } catch (const Error& error) {
    own = error;
  }
  // The first byte is the kind of error. An empty text is no error.
  std::string told = own ? std::string(1, char(own->kind())) + own->what() : std::string();
  std::vector<std::string> all = all_gather_text(told, group);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty()) continue;
    if (std::int64_t(i) == group.rank())
      throw own ? *own : Error::of_text(ErrorKind(all[i][0]), all[i].substr(1));
    throw Error(ErrorKind(all[i][0]), "checkpoint",
                fmt::format("rank {} failed: {}",
                            rank_behind(this_rank().world().options(),
                                        RankId(group.members()[std::int64_t(i)])),
                            std::string_view(all[i]).substr(1)));
  }
}

}  // namespace simmesh::checkpoint
