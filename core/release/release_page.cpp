#include "core/release/release_page.h"

#include <fmt/format.h>

#include "core/check/join_text.h"

namespace simmesh {

namespace {

constexpr std::string_view head = R"(# What differs between PyTorch releases
simmesh follows one release of PyTorch at a time: the newest, {newest}, unless a world, a gate or
a command asks for another. This page lists all that it does differently under each of them.
`simmesh releases --changes` prints it from the table in `core/release/release_change.cpp`, which
the code asks.

| where | how a release is chosen |
| --- | --- |
| a program | `WorldOptions::release`, or `--release` if it uses `world_options_from` |
| a test | `SIMMESH_TEST(Suite, name, {{.release = Release::v2_13}})`, or `--release` |
| a gate | `[world] release = "2.13"`, or `simmesh run --release 2.13` |
| a plan | `simmesh plan --release 2.13` |
| recorded cases | the release in each case's `source`, or `simmesh verify --release 2.13` |

`simmesh releases PATH` runs a gate, or recorded cases, under each release and prints what differs:
what a run does, and which cases pass under one release only. With cases that you
[record](record_cases.md) from a model of yours, that is what an upgrade changes for it.

A row is *changed* where both releases do something useful, *added* where only the newer one can
do it, and *fixed* where the older one was at fault. Faults of PyTorch that simmesh has under no
release are in [differences.md](differences.md).
)";

std::string row_text(const ReleaseChangeRow& row) {
  std::string title(row.name);
  for (char& letter : title)
    if (letter == '_') letter = ' ';
  return fmt::format("| {} | {}, {} | {} | {} |", title, row.kind, to_string(row.since), row.before,
                     row.after);
}

}  // namespace

std::string release_page(const UsersOfChange& users) {
  std::string text = fmt::format(head, fmt::arg("newest", to_string(newest_release)));
  std::string_view area;
  for (const ReleaseChangeRow& row : release_changes()) {
    if (row.area != area)
      text += fmt::format("\n## {}\n| what | since | before | since then |{}\n{}{}\n", row.area,
                          users ? " where in the code |" : "", "| --- | --- | --- | --- |",
                          users ? " --- |" : "");
    area = row.area;
    text += row_text(row);
    if (users) text += fmt::format(" `{}` |", join_text(users(row), "` `"));
    text += '\n';
  }
  return text;
}

}  // namespace simmesh
