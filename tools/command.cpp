#include "tools/command.h"

#include "core/page/report_page.h"
#include "tools/program.h"

namespace simmesh {

int run_command(int argc, char** argv) {
  AddSubcommand* const all[] = {add_run_command,    add_explore_command,  add_verify_command,
                                add_merge_command,  add_releases_command, add_validate_command,
                                add_plan_command,   add_replay_command,   add_checkpoint_command,
                                add_config_command, add_falsify_command,  add_compose_command,
                                add_report_command, add_doctor_command};
  return run_program(all, argc, argv);
}

std::string page_of_data(const std::string& data) {
  return report_page(data_of_page(data, "data"));
}

}  // namespace simmesh
