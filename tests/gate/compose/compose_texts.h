#pragma once

#include <string>

#include "gate/compose/compose.h"

namespace simmesh::testing {

// compose_model returns the text of a small model; `rest` are more lines of the table [model].
inline std::string compose_model(const std::string& kind, const std::string& rest = "") {
  return "title = \"A small model\"\n[model]\nkind = \"" + kind +
         "\"\nlayers = 1\nwidth = 8\nheads = 2\nhidden = 8\nvocabulary = 11\n"
         "init = { scale = 0.3 }\n" +
         rest +
         "[data]\nbatch = 12\nsequence = 8\n[train]\nsteps = 2\n"
         "optimizer = { kind = \"adamw\" }\nclip_grad_norm = 0.1\n";
}

// composed runs the layouts of a text.
inline Composition composed(const std::string& text, const ComposeRequest& request) {
  return compose(compose_model_from_text(text, "m.toml"), {}, request);
}

}  // namespace simmesh::testing
