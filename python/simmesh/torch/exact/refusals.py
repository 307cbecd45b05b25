"""Operators that have no exact form, each with the reason."""

from __future__ import annotations

from fnmatch import fnmatchcase

from simmesh.torch.exact import tables
from simmesh.torch.exact.tables import Entry, Operator

#: Reasons, and patterns of the names that they hold for.
REASONS: tuple[tuple[str, str], ...] = (
    (
        "factorizations of matrices: LAPACK adds in an order of its own",
        "linalg_* _linalg_* cholesky cholesky_* _cholesky_* geqrf ormqr lu_unpack triangular_solve "
        "_compute_linear_combination",
    ),
    (
        "special functions whose bits depend on the processor",
        "special_* polygamma i0 igamma igammac mvlgamma _standard_gamma_grad "
        "_dirichlet_grad glu_jvp glu_backward_jvp",
    ),
    (
        "quantized numbers: scales are found from the elements at hand",
        "*quantize* *quantized* _fused_moving_avg* _empty_affine* _empty_per_channel* "
        "_make_per_* int_repr q_per_channel_* _weight_int* *_pack_4bit* *_matmul_4bit *int4pack* "
        "_int_mm _scaled_mm* _scaled_addmm* _scaled_grouped_mm*",
    ),
    (
        "sparse, nested and padded layouts: only strided tensors are computed",
        "*sparse* *nested* *coalesce* *_to_dense *_convert_indices_* _spdiags *jagged* "
        "to_padded_tensor _values* values_copy ccol_* col_* crow_* row_* _indices* indices_* "
        "_validate_compressed* *_coo_tensor*",
    ),
    (
        "kernels of one library or device: other operators compute the same",
        "*mkldnn* *cudnn* *miopen* *mps* *triton* *nnpack* *overrideable* _thnn_* linear_backward "
        "matmul_backward slow_conv* _slow_conv* conv_tbc conv_depthwise3d batch_norm_backward* "
        "batch_norm_stats* batch_norm_gather* batch_norm_update_stats _batch_norm_* native_norm "
        "_native_batch_norm_legit_functional _grid_sampler_2d_cpu* _copy_from* _fused_dropout "
        "_masked_scale _native_multi_head_attention _transformer_encoder_layer_fwd "
        "_transform_bias_rescale_qkv _lstm_* max_pool2d_backward",
    ),
    (
        "sums in the order of torch's loops, which no exact form replaces",
        "segment_reduce _segment_reduce* "
        "index_reduce multi_margin_loss* multilabel_margin_loss* "
        "histogram _histogramdd_* grid_sampler_2d_backward grid_sampler_3d* *_aa *_aa_backward "
        "_masked_softmax* affine_grid_generator hash_tensor fractional_max_pool*_backward",
    ),
    ("complex numbers: this form is not computed", "_conj_copy"),
    ("torch's own tests", "_test_* _foobar"),
)  # fmt: skip


@tables.rule
def _refused(operator: Operator) -> Entry | None:
    if not operator.name().startswith("aten::"):
        return None
    packet = tables.packet_of(operator)
    names = (packet, packet.removesuffix("_"))
    for reason, patterns in REASONS:
        for pattern in patterns.split():
            if any(fnmatchcase(name, pattern) for name in names):
                return Entry("refused", reason.partition(":")[0], reason)
    return None


tables.safe(
    "elementwise",
    "bitwise_left_shift bitwise_right_shift __lshift__ __rshift__ __ilshift__ __irshift__ "
    "gcd lcm cumprod "
    "rrelu_with_noise_backward _functional_assert_scalar _functional_sym_constrain_range "
    "_functional_sym_constrain_range_for_size max_unpool2d max_unpool3d",
)
# The scales of these are given, so that an element is rounded alone.
tables.safe(
    "elementwise",
    "fake_quantize_per_tensor_affine_cachemask fake_quantize_per_channel_affine_cachemask "
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
)
# Each sequence has a loop of its own.
tables.safe("softmax and losses", "_ctc_loss _ctc_loss_backward")
tables.safe(
    "random",
    "rrelu_with_noise_functional _philox_normal _philox_normal_ _philox_uniform _philox_uniform_ "
    "_philox_randint _philox_randint_ _philox_key_fold_in _philox_key_split",
)
