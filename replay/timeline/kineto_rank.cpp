#include "replay/timeline/kineto_rank.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <utility>

#include "replay/read/bad_trace.h"
#include "replay/read/json_stream.h"
#include "replay/timeline/kineto_event.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t event_bytes_shown = 80;
constexpr std::int64_t base_ns_max = 4'000'000'000'000'000'000;

SpanKind kind_of(const KinetoEvent& event) {
  switch (event.category) {
    case KinetoCategory::kernel:
      return event.name.starts_with("nccl") ? SpanKind::communication : SpanKind::compute;
    case KinetoCategory::copy: return SpanKind::copy;
    case KinetoCategory::annotation:
      return is_host_communication(event.name) ? SpanKind::communication : SpanKind::annotation;
    case KinetoCategory::device_annotation: return SpanKind::annotation;
    default: return SpanKind::host;
  }
}

bool is_on_device(KinetoCategory category) {
  return category == KinetoCategory::kernel || category == KinetoCategory::copy ||
         category == KinetoCategory::device_annotation;
}

// RankReader collects the events of one file.
class RankReader {
 public:
  explicit RankReader(ByteSource& source) : source_(source) {}

  KinetoRank read() {
    read_json_object(
        source_, {.list = [&](std::string_view key) { has_events_ |= key == "traceEvents"; },
                  .element =
                      [&](std::string_view key, JsonPiece piece) {
                        if (key == "traceEvents") read_event(piece);
                      },
                  .value = [&](std::string_view key, JsonPiece piece) { read_value(key, piece); },
                  .bare_list = "traceEvents"});
    if (!has_events_) refuse("top_level", "expected a list 'traceEvents', got none");
    for (KinetoRank::Times& times : rank_.times) {
      times.begin_ns += base_ns_;
      times.end_ns += base_ns_;
    }
    rank_.timeline.file = source_.name();
    rank_.timeline.other_categories = events_.other_categories();
    rank_.repairs = events_.repairs();
    rank_.unfinished = events_.unfinished();
    return std::move(rank_);
  }

 private:
  void read_event(JsonPiece piece) {
    std::size_t index = rank_.timeline.events++;
    try {
      if (events_.read(piece, event_)) add_span();
    } catch (const JsonFault& fault) {
      refuse("json", fmt::format("entry {} of 'traceEvents', byte {}: {}", index, fault.offset,
                                 fault.message));
    } catch (const BadEvent& bad) {
      refuse("event",
             fmt::format("entry {} of 'traceEvents', byte {}: {} in '{}'", index, piece.offset,
                         bad.message, shown_bytes(piece.text.substr(0, event_bytes_shown))));
    }
  }

  void add_span() {
    auto index = std::uint32_t(rank_.timeline.spans.size());
    rank_.timeline.spans.push_back({.name = rank_.timeline.texts.id_of(event_.name),
                                    .kind = kind_of(event_),
                                    .track = track_of_event(),
                                    .bytes = event_.bytes,
                                    .record_function = event_.record_function,
                                    .external_id = event_.external_id,
                                    .event_index = event_.event_index});
    rank_.times.push_back({event_.begin_ns, event_.begin_ns + event_.length_ns});
    if (event_.correlation && event_.category == KinetoCategory::runtime)
      rank_.calls.emplace(*event_.correlation, index);
    if (event_.correlation && is_on_device(event_.category))
      rank_.correlations.emplace(index, *event_.correlation);
    if (event_.comm.is_known()) rank_.comms.emplace(index, std::move(event_.comm));
  }

  std::uint32_t track_of_event() {
    bool is_device = is_on_device(event_.category);
    std::string thread =
        is_device && event_.stream ? fmt::format("{}", *event_.stream) : event_.thread;
    auto [found, is_new] = tracks_.emplace(std::tuple(is_device, event_.process, thread),
                                           std::uint32_t(rank_.timeline.tracks.size()));
    if (is_new)
      rank_.timeline.tracks.push_back(
          {fmt::format("{} {}", is_device ? "stream" : "thread", thread), is_device});
    return found->second;
  }

  void read_value(std::string_view key, JsonPiece piece) {
    if (key == "traceEvents") refuse("top_level", "expected 'traceEvents' as a list, got other");
    try {
      simdjson::dom::element value = values_.read(piece);
      if (key == "baseTimeNanoseconds") read_base(value);
      if (key == "distributedInfo" && value.is_object()) read_distributed_info(value);
    } catch (const JsonFault& fault) {
      refuse("json",
             fmt::format("field '{}', byte {}: {}", shown_bytes(key), fault.offset, fault.message));
    }
  }

  void read_base(const simdjson::dom::element& value) {
    if (value.is_int64()) base_ns_ = value.get_int64();
    if (!value.is_int64() || base_ns_ < 0 || base_ns_ > base_ns_max)
      refuse("top_level", "expected 'baseTimeNanoseconds' as nanoseconds since 1970, got other");
  }

  void read_distributed_info(const simdjson::dom::object& info) {
    std::int64_t number = 0;
    if (!info["world_size"].get(number)) rank_.world_size = number;
    if (!info["rank"].get(number)) rank_.rank = number;
    if (rank_.world_size < 0 || rank_.world_size > kineto_ranks_max || rank_.rank.value_or(0) < 0 ||
        rank_.rank.value_or(0) >= kineto_ranks_max)
      refuse(
          "top_level",
          fmt::format("field 'distributedInfo': expected a rank of at most {} ranks, got rank {} "
                      "of {}",
                      kineto_ranks_max, rank_.rank.value_or(0), rank_.world_size));
    simdjson::dom::array groups;
    if (info["pg_config"].get(groups)) return;
    for (simdjson::dom::element group : groups) {
      std::string_view name;
      simdjson::dom::array ranks;
      if (group["pg_name"].get(name) || group["ranks"].get(ranks)) continue;
      std::vector<std::int64_t>& members = rank_.groups[std::string(name)];
      members.clear();
      for (simdjson::dom::element rank : ranks)
        if (!rank.get(number)) members.push_back(number);
    }
  }

  [[noreturn]] void refuse(std::string rule, std::string_view message) {
    throw BadTrace(std::move(rule), "replay/timeline",
                   fmt::format("{}: {}", source_.name(), message));
  }

  ByteSource& source_;
  KinetoRank rank_;
  KinetoEvent event_;
  KinetoEventReader events_;
  JsonValueReader values_;  // of the fields beside the events
  std::map<std::tuple<bool, std::string, std::string>, std::uint32_t> tracks_;
  std::int64_t base_ns_ = 0;
  bool has_events_ = false;
};

}  // namespace

KinetoRank read_kineto_rank(ByteSource& source) { return RankReader(source).read(); }

bool is_collective_kernel(std::string_view name) {
  return name.starts_with("ncclKernel_") || name.starts_with("ncclDevKernel_");
}

}  // namespace simmesh::replay
