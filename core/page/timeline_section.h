#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/check/json_value.h"

namespace simmesh {

// TimelineSection collects what ranks did when, and makes the section of a report that draws it.
// A span that begins before the one before it on its track has ended goes to another track of the
// same name.
//
//   TimelineSection timeline({.title = "Timeline", .unit = "step"});
//   timeline.add({.rank = 3, .begin = 12, .length = 5, .name = "all_reduce", .site = "a.cpp:4"});
//   JsonValue section = timeline.json();
class TimelineSection {
 public:
  struct About {
    std::string title = "Timeline";
    std::string unit;  // "us", for times in thousandths of it, or another unit, for whole numbers
    std::string about = {};
    std::size_t spans_max = 200'000;  // of all tracks; each track has an equal part
  };
  struct Span {
    std::uint64_t rank = 0;
    std::string track = {};
    std::int64_t begin = 0;
    std::int64_t length = 0;
    std::string name;
    std::string site = {};
  };

  explicit TimelineSection(About about) : about_(std::move(about)) {}

  // add adds a span. The spans of a track come in the order of their begins.
  void add(const Span& span);
  bool is_empty() const { return tracks_.empty(); }

  // json returns the section. It says how many spans were left out at the ends of tracks.
  JsonValue json() const;

 private:
  struct Place {
    std::uint64_t rank;
    std::string name;
    std::size_t lane;
    auto operator<=>(const Place&) const = default;
  };
  struct Track {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::vector<std::int64_t> spans;  // gap, length and label of each
  };

  std::int64_t label_of(const Span& span);

  About about_;
  std::map<Place, Track> tracks_;
  std::map<std::pair<std::string, std::string>, std::int64_t> labels_;
};

}  // namespace simmesh
