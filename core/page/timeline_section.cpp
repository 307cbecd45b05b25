#include "core/page/timeline_section.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh {

std::int64_t TimelineSection::label_of(const Span& span) {
  auto number = std::int64_t(labels_.size());
  return labels_.try_emplace({span.name, span.site}, number).first->second;
}

void TimelineSection::add(const Span& span) {
  for (std::size_t lane = 0;; ++lane) {
    auto [place, is_new] = tracks_.try_emplace({span.rank, span.track, lane});
    Track& track = place->second;
    if (is_new) track.begin = track.end = span.begin;
    if (span.begin < track.end) continue;
    track.spans.insert(track.spans.end(), {span.begin - track.end, span.length, label_of(span)});
    track.end = span.begin + span.length;
    return;
  }
}

JsonValue TimelineSection::json() const {
  std::size_t each =
      tracks_.empty() ? 0 : std::max<std::size_t>(1, about_.spans_max / tracks_.size());
  std::map<std::vector<std::int64_t>, std::int64_t> shared;
  JsonValue::List tracks, spans;
  std::size_t left_out = 0;
  for (const auto& [place, track] : tracks_) {
    std::vector<std::int64_t> kept = track.spans;
    if (kept.size() > 3 * each) {
      left_out += kept.size() / 3 - each;
      kept.resize(3 * each);
    }
    auto [known, is_new] = shared.try_emplace(kept, std::int64_t(spans.size()));
    if (is_new) spans.emplace_back(kept);
    JsonValue json =
        JsonValue::object({{"rank", place.rank}, {"begin", track.begin}, {"spans", known->second}});
    std::string name = place.name;
    if (place.lane > 0) name += fmt::format("{}({})", name.empty() ? "" : " ", place.lane + 1);
    if (!name.empty()) json.set("name", name);
    tracks.push_back(std::move(json));
  }
  JsonValue::List labels(labels_.size());
  for (const auto& [label, number] : labels_) {
    JsonValue::List words = {label.first};
    if (!label.second.empty()) words.emplace_back(label.second);
    labels[std::size_t(number)] = std::move(words);
  }
  std::string about = about_.about;
  if (left_out > 0)
    about += fmt::format("{}The page has the first {} operations of each track and leaves out {}.",
                         about.empty() ? "" : " ", each, left_out);
  return JsonValue::object({{"kind", "timeline"},
                            {"title", about_.title},
                            {"unit", about_.unit},
                            {"about", about},
                            {"labels", std::move(labels)},
                            {"spans", std::move(spans)},
                            {"tracks", std::move(tracks)}});
}

}  // namespace simmesh
