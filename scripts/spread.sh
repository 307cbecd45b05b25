# Functions of ./dev that run gates and recorded cases with their ranks spread over processes.
# shellcheck shell=bash

# print_gates_and_cases OPTIONS COMMAND... prints what the default gates and the recorded cases
# print, run by a command such as mpirun; but not physical peaks, which are those of a process.
print_gates_and_cases() {
  local job options=$1
  shift
  (
    cd "$root"
    # The words of options and jobs are separate arguments.
    # shellcheck disable=SC2086
    "$@" build/release/bin/simmesh run $options examples/gates/*.toml
    for job in "${recorded_cases[@]}"; do
      # shellcheck disable=SC2086
      [[ $job != verify* ]] || "$@" build/release/bin/simmesh $job $options
    done
  ) | sed 's/, [0-9]* physical bytes//'
}

# print_in_one_process keeps what one process prints, with which same_over_processes OPTIONS
# COMMAND... compares what several print.
one=$root/build/release/one_process.txt
print_in_one_process() { print_gates_and_cases "" env > "$one"; }
same_over_processes() {
  local several=$root/build/release/processes.txt
  print_gates_and_cases "$@" > "$several" || true
  diff "$one" "$several" | head -n 20
  cmp -s "$one" "$several"
}

# test_spread runs them over processes of this machine, and of MPI, and kills some of the latter.
test_spread() {
  local count
  stage "gates and recorded cases in one process" print_in_one_process
  for count in 2 3 4; do
    stage "gates and recorded cases over $count processes" \
      same_over_processes "--processes $count" env
  done
  set -a
  # shellcheck source=/dev/null
  source "$root/scripts/open_mpi.env"
  set +a
  for count in 1 2 3 4; do
    stage "gates and recorded cases over $count processes of MPI" \
      same_over_processes --spread mpirun -n "$count"
  done
  stage "processes of MPI that are killed at $SIMMESH_KILLS points" \
    "$root/build/release/bin/tools_test" --gtest_filter='MpiKills.*'
}
