#include "checkpoint/read/open_together.h"

#include <string>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/read/exchange.h"
#include "checkpoint/read/made_once.h"
#include "checkpoint/read/rank_text.h"
#include "collectives/collectives.h"
#include "core/check/bits_hash.h"

namespace simmesh::checkpoint {

namespace {

std::string text_of(const OpenCheckpoint& opened) {
  RankTextWriter writer;
  writer.add(catalog_text(opened.catalog));
  writer.add(opened.folder);
  return writer.text();
}

OpenCheckpoint parse_opened(std::string_view text) {
  RankTextReader reader(text);
  Catalog catalog = parse_catalog(reader.text());
  return {std::move(catalog), reader.text()};
}

SharedCheckpoint with_hash(OpenCheckpoint opened, std::string_view text) {
  return {std::move(opened),
          bits_hash(gsl::as_bytes(gsl::span<const char>(text.data(), text.size())))};
}

}  // namespace

SharedCheckpoint shared_checkpoint(OpenCheckpoint opened) {
  std::string text = text_of(opened);
  return with_hash(std::move(opened), text);
}

std::shared_ptr<const SharedCheckpoint> open_together(const Location& location,
                                                      const ProcessGroup& group) {
  std::shared_ptr<const SharedCheckpoint> shared;
  std::string text;
  together(group, [&] {
    if (group.rank() != 0) return;
    OpenCheckpoint opened = open(location);
    text = text_of(opened);
    shared = made_once<SharedCheckpoint>(text, [&] { return with_hash(std::move(opened), text); });
  });
  text = broadcast_object(text, 0, group);
  together(group, [&] {
    if (group.rank() != 0)
      shared =
          made_once<SharedCheckpoint>(text, [&] { return with_hash(parse_opened(text), text); });
  });
  return shared;
}

}  // namespace simmesh::checkpoint
