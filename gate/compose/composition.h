#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gate/compose/layouts.h"
#include "training/run_record.h"

namespace simmesh {

// LayoutResult is what came of one layout.
struct LayoutResult {
  std::string name;  // "fsdp=2+tensor=2:sequence"
  std::vector<std::string> forms;
  std::int64_t ranks = 0;
  std::string mesh;             // "fsdp 2, tensor 2"
  std::string entry;            // of expect.same_as in a gate file: "{ mesh = [2, 2], ... }"
  std::size_t tensors = 0;      // that each rank compared with one device
  std::int64_t peak_bytes = 0;  // of the rank that held the most
  std::string failure;          // of a run that didn't end; empty for one that did
  // The first result that differs, on the first rank where one does.
  std::optional<Difference> difference;
  std::int64_t rank = 0;
  // The first op of the forward pass, or of the backward pass the first gradient, that differs: the
  // cause, or next to it. Of layouts that no smaller one explains.
  std::string first;
  // The smallest failing layout whose forms this one has, too; its own name if there is none.
  std::string smallest;

  bool passed() const { return failure.empty() && !difference; }
};

// Composition is the result of compose. It depends on the file and the request only.
struct Composition {
  std::string file;
  std::string title;
  std::vector<double> losses;  // of one device
  std::size_t tensors = 0;     // of its results
  std::vector<LayoutResult> layouts;
  std::vector<Misfit> misfits;
  bool interrupted = false;
  std::string flags;  // of the command, which decide how a layout runs: " --inject fsdp=2"

  // reproduce returns a command line that repeats the smallest failing layout; empty if all passed.
  std::string reproduce() const;
  std::int64_t passed() const;
  std::int64_t failed() const { return std::int64_t(layouts.size()) - passed(); }
};

// name_smallest names for each failing layout the smallest one with no other forms. Layouts are in
// the order of their sizes.
void name_smallest(std::vector<LayoutResult>& layouts);

// has_all_forms is true if all forms that are asked for are among some.
bool has_all_forms(const std::vector<std::string>& forms, const std::vector<std::string>& asked);

}  // namespace simmesh
