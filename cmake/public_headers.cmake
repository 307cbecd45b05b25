# The headers that programs may include by name, beside simmesh.h and those that simmesh.h includes. These are installed, with
# the headers that they include; no other header is, and paths that aren't here may change. tests/tidy/public_surface_test.cpp
# holds the list against the tree, the pages and the examples.
set(simmesh_public_headers
  # checks of a program's own contracts
  core/check/check.h
  # names for what a rank does, in traces and profiles
  core/engine/ranks/annotation.h
  # values that ranks share outside any collective, and the shortest schedule that fails
  core/engine/run/shared.h
  core/engine/schedules/sampling.h
  core/engine/shrink_schedule.h
  # worlds over several processes, of this machine and of MPI, and values by which they go on
  core/engine/run/known.h
  core/engine/spread/mpi/mpi_processes.h
  core/engine/spread/socket_processes.h
  core/engine/spread/world_spread.h
  core/tensor/known_tensor.h
  core/tensor/scalar_value.h

  # the elements of a tensor as Eigen's matrices
  core/tensor/eigen_map.h
  # ops of one's own, and who watches ops
  core/ops/call.h
  core/ops/gradient_call.h
  core/ops/op_observer.h
  core/ops/promotion.h
  # the ops of the library, beside those that simmesh.h includes
  core/ops/elementwise/comparison.h
  core/ops/elementwise/complex.h
  core/ops/elementwise/conversion.h
  core/ops/elementwise/gamma.h
  core/ops/elementwise/inplace.h
  core/ops/functions/closeness.h
  core/ops/functions/diagonals.h
  core/ops/functions/differences.h
  core/ops/functions/einsum.h
  core/ops/functions/grids.h
  core/ops/functions/reordering.h
  core/ops/functions/striding.h
  core/ops/indexing/gathering.h
  core/ops/indexing/indexing.h
  core/ops/indexing/rearranging.h
  core/ops/indexing/resampling.h
  core/ops/indexing/scattering.h
  core/ops/indexing/view_scattering.h
  core/ops/matrices/compositions.h
  core/ops/matrices/linear_algebra.h
  core/ops/matrices/spectral.h
  core/ops/neural/attention.h
  core/ops/neural/batch_normalization.h
  core/ops/neural/convolution.h
  core/ops/neural/normalization.h
  core/ops/neural/pooling.h
  core/ops/neural/rotary.h
  core/ops/neural/softmax.h
  core/ops/reductions/extremes.h
  core/ops/reductions/logcumsumexp.h
  core/ops/reductions/membership.h
  core/ops/reductions/order_statistics.h
  core/ops/reductions/reductions.h
  core/ops/reductions/running_extremes.h
  core/ops/reductions/scans.h
  core/ops/reductions/sorting.h
  core/ops/reductions/statistics.h
  core/ops/shapes/aliases.h
  core/ops/shapes/factories.h
  core/ops/shapes/joining.h
  core/ops/shapes/unfolding.h
  # functions on the tape that are no ops, gradients checked by differences, and where the tape keeps tensors
  core/autograd/autocast.h
  core/autograd/function.h
  core/autograd/gradcheck.h
  core/autograd/saved_tensor.h
  # modules, averages and optimisers that few programs need, and models by description
  core/nn/batch_norm.h
  core/nn/batch_rows.h
  core/nn/convolution.h
  core/nn/model_node.h
  core/optim/adadelta.h
  core/optim/adafactor.h
  core/optim/adagrad.h
  core/optim/adamax.h
  core/optim/asgd.h
  core/optim/ema.h
  core/optim/lamb.h
  core/optim/lion.h
  core/optim/matrix/torch_muon.h
  core/optim/muon.h
  core/optim/nadam.h
  core/optim/radam.h
  core/optim/rmsprop.h
  core/optim/rprop.h

  # the fixture for tests
  testing/gtest.h

  # distributed tensors that are made where they lie
  sharding/api/dtensor_factories.h
  # the ops and collectives of a program, and the modules in which they run
  sharding/debug/debug_mode.h
  sharding/debug/module_comm_counts.h
  sharding/debug/module_tracker.h
  # shardings and plans as text and SVG, and what a redistribution refuses
  sharding/picture/picture.h
  sharding/picture/picture_svg.h
  sharding/picture/plan_picture.h
  sharding/redistribute/plan_report.h
  sharding/redistribute/redistribute_refusals.h
  # sharding rules, their validator, and the rules of one's own functions
  sharding/rules/check_rule.h
  sharding/strategies/strategy_of.h
  sharding/validate/validate.h
  sharding/validate/validate_report.h
  sharding/validate/validate_sample.h
  # PaddlePaddle's layouts, resharding and sharding rules
  sharding/paddle/dist_attr.h
  sharding/paddle/mesh_dim_fallback.h
  sharding/paddle/optimizer_state_layout.h
  sharding/paddle/reshard.h
  sharding/paddle/reshard_choice.h
  sharding/paddle/reshard_plan.h
  sharding/paddle/spmd/spmd_call.h
  sharding/paddle/spmd/spmd_rules.h

  # what fully_shard does on a rank, and who owns the bytes of a shard
  fsdp/owners.h
  fsdp/param/event.h
  fsdp/state/event_fields.h

  # what ZeRO stage 3 does on a rank, as events, as a picture and as numbers
  zero/fetch/event.h
  zero/fetch/pretty.h
  zero/fetch/schedule_picture.h
  zero/stage3/schedule_record.h
  # the meaning of a DeepSpeed file, estimates of memory, and tensors that lie in files
  zero/config/config_autos.h
  zero/config/hjson.h
  zero/engine/config_report.h
  zero/engine/estimate.h
  zero/stage3/file_store.h

  # schedules of pipelines, what they cost, micro-batches, and stages that are trained
  pipeline/analysis/dry_run.h
  pipeline/analysis/liveness.h
  pipeline/analysis/peaks.h
  pipeline/analysis/schedule_picture.h
  pipeline/analysis/schedule_report.h
  pipeline/analysis/single_run.h
  pipeline/chunks/join.h
  pipeline/chunks/split.h
  pipeline/lowering/lower.h
  pipeline/lowering/messages.h
  pipeline/runtime/schedule.h
  pipeline/schedule/csv.h
  pipeline/schedule/order.h
  pipeline/stage/event.h
  pipeline/stage/stage.h

  # stores of checkpoints: folders, memory, and one in which operations go wrong
  checkpoint/store/directory_store.h
  checkpoint/store/faulty_store.h
  checkpoint/store/memory_store.h
  # checkpoints that are converted, compared and verified
  checkpoint/tools/convert.h
  checkpoint/tools/diff.h
  checkpoint/tools/verify.h
  # PaddlePaddle's fused buffers
  checkpoint/paddle/fused_buffers.h

  # execution traces: recorded, read, written, completed and validated
  replay/job/missing_ranks.h
  replay/job/trace_job.h
  replay/read/read_execution_trace.h
  replay/record/record_run.h
  replay/validate/validate_job.h
  replay/write/write_execution_trace.h
  # Kineto's timelines, and what they say
  replay/analysis/bandwidth.h
  replay/analysis/collective_order.h
  replay/analysis/comm_overlap.h
  replay/analysis/comm_table.h
  replay/analysis/critical_path.h
  replay/analysis/exposed.h
  replay/analysis/job_collectives.h
  replay/analysis/join_trace.h
  replay/analysis/skew.h
  replay/analysis/step_times.h
  replay/timeline/read_timeline.h
  # jobs that are run again and simulated
  replay/job/job_groups.h
  replay/run/fit_links.h
  replay/run/replay_job.h
  replay/run/replay_program.h
  replay/run/serial_oracle.h
  replay/run/simulate.h
  replay/run/what_if.h
  # all of that in one report
  replay/report/report_html.h
  replay/report/report_job.h
  replay/report/report_json.h
  replay/report/report_text.h
  # Chakra's traces
  replay/chakra/chakra_order.h
  replay/chakra/chakra_summary.h
  replay/chakra/read_chakra.h
  replay/chakra/to_chakra.h
  replay/chakra/write_chakra.h

  # training runs by description, in parallel forms, and the rows that their batches have
  training/expert_form.h
  training/shuffled_rows.h
  training/tensor_form.h
  training/training.h

  # recorded cases, and kinds of them of one's own
  verify/case_kind.h
  verify/verify.h

  # gates: read, explained, run and explored
  gate/compose/compose.h
  gate/compose/compose_report.h
  gate/explain.h
  gate/explore/explore_gate.h
  gate/file.h
  gate/report.h
  gate/run_gate.h)

# The headers that python/bindings includes beside those above. The module is built with this tree, so they may change; they
# aren't installed.
set(simmesh_bound_headers
  # tensors of torch and numpy, without copies where that can be
  collectives/host_memory.h
  core/tensor/convert.h
  core/tensor/dims.h
  core/tensor/strided_copy.h
  # exact values behind the elements of tensors of torch
  core/arithmetic/companions/element_array.h
  core/arithmetic/companions/exact_record.h
  core/arithmetic/companions/exact_values.h
  core/arithmetic/functions.h
  core/arithmetic/sums/exact_sums.h
  # collectives that the host's own code carries out
  collectives/collective_call.h
  collectives/host_operations.h
  # ranks as threads of Python
  core/engine/run/run.h
  core/engine/reports/reported_run.h
  core/engine/seats/thread_host.h
  core/engine/search/order_policy.h
  core/engine/search/search_part.h
  # types of plain tensors
  sharding/typed/annotation.h
  sharding/typed/conversion.h
  sharding/typed/global_rule.h
  sharding/typed/local_rule.h
  sharding/typed/type_refusal.h
  # the command in Python, its findings and its shards
  core/findings/judged_checks.h
  core/shards/job_result.h
  core/shards/shard_request.h
  core/check/repro.h
  core/check/write_file.h
  core/engine/options/run_words.h
  tools/command.h
  tools/examination.h
  verify/pytorch/ops/rule_files.h)
