#pragma once

#include <cstdint>
#include <string_view>

namespace simmesh::checkpoint {

// SaveLayout is the layout of a checkpoint's files. Each rank's tensors are in one file; or
// modular, in a folder for each part, as in PaddlePaddle's modular checkpoints. It is one
// checkpoint under one commit either way. A part is a location of its own, so that the model alone
// can be loaded, inspected, verified, converted or compared:
//
//   checkpoint::StateDict state(model.state_dict(), "model.");
//   checkpoint::save(state, checkpoint::Directory("run/step_10"),
//                    {.layout = checkpoint::SaveLayout::modular});
//   checkpoint::load(state, checkpoint::Directory("run/step_10/model_state"));
enum class SaveLayout : std::uint8_t { one_file, modular };

// part_of_name returns the part of a value, by the first word of its name: "model_state" for
// "model.", "master_weight" for "master.", "optimizer_state" for "optim.", "ema_state" for "ema.",
// else "other_state".
std::string_view part_of_name(std::string_view name);

// is_part_folder is true if a folder's name is that of a part.
bool is_part_folder(std::string_view name);

}  // namespace simmesh::checkpoint
