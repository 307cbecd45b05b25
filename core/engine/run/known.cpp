#include "core/engine/run/known.h"

#include "core/check/error.h"
#include "core/engine/ranks/rank.h"
#include "core/engine/run/run.h"
#include "core/engine/run/spread_run.h"
#include "core/engine/spread/message_bytes.h"

namespace simmesh {

namespace {

// The text, or the error in its place.
ProcessBytes found_bytes(const std::function<std::string()>& find_out) {
  KnownScope alone;
  MessageWriter writer;
  try {
    std::string text = find_out();
    writer.put(std::int8_t(-1));
    writer.put_text(text);
  } catch (const Error& error) {
    writer.put(std::int8_t(error.kind()));
    writer.put_text(error.what());
  }
  return writer.take();
}

}  // namespace

std::string known_text(std::string_view name, const std::function<std::string()>& find_out) {
  Rank* rank = Rank::active();
  SpreadRun* spread = rank ? SpreadRun::of(rank->run()) : nullptr;
  if (!spread || KnownScope::is_open()) return find_out();
  int owner = spread->owner(rank->id());
  ProcessBytes own;
  if (owner == spread->process()) own = found_bytes(find_out);
  ProcessBytes told = spread->share(name, owner, own);
  MessageReader reader(told);
  auto kind = reader.get<std::int8_t>();
  std::string text = reader.get_text();
  if (kind >= 0) throw Error::of_text(ErrorKind(kind), text);
  return text;
}

}  // namespace simmesh
