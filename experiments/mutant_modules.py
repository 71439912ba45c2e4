"""The modules that experiments/mutants.py changes, the tests that must notice, and changes that nothing can notice."""

from __future__ import annotations

STORE = "tests/store/test_format.py tests/store/test_tensors.py tests/store/test_store.py"

TESTS = {  # module -> files and folders of tests, in the order in which they run
    "pipeline/core/atomic.py": "tests/core/test_unfinished.py tests/core/test_atomic.py",
    "pipeline/core/hashing.py": "tests/store/test_tensors.py tests/store/test_format.py",
    "pipeline/corpus/vocabulary.py": "tests/corpus",
    "pipeline/index/video_index.py": "tests/index",
    "pipeline/store/manifest.py": STORE,
    "pipeline/store/tensor_file.py": f"{STORE} tests/store/test_damage.py",
    "pipeline/store/provenance.py": "tests/store/test_provenance.py",
    "pipeline/store_tools/verify_store.py": "tests/store/test_row_tables.py tests/store/test_damage.py",
    "pipeline/cache/feature_cache.py": "tests/cache tests/store/test_cache.py",
    "pipeline/extraction/sampling.py": "tests/extraction/test_sampling.py tests/extraction/test_sampling_rules.py",
    "pipeline/extraction/forward_pass.py": "tests/extraction/test_forward_pass.py tests/extraction/test_prefetch.py",
    "pipeline/extraction/fingerprint.py": "tests/store/test_fingerprint.py",
    "pipeline/captioner/batches.py": "tests/captioner/test_batches.py tests/captioner",
    "pipeline/captioner/search.py": "tests/captioner/test_search.py tests/captioner",
    "pipeline/captioner/teacher_forcing.py": "tests/captioner/test_teacher_forcing.py tests/captioner",
    "pipeline/training/schedules.py": "tests/training/test_schedules.py",
    "pipeline/training/self_critical.py": "tests/training/test_self_critical.py",
    "pipeline/metrics/bleu.py": "tests/metrics/test_scorers.py tests/metrics/test_rewards.py",
    "pipeline/metrics/cider.py": "tests/metrics/test_scorers.py tests/metrics/test_rewards.py",
    "pipeline/metrics/rouge.py": "tests/metrics/test_scorers.py",
    "pipeline/evaluation/bootstrap.py": "tests/metrics/test_resampling.py tests/metrics/test_bootstrap.py",
    "models/parts/layers.py": "tests/models/test_attention_layers.py tests/models/test_layers.py",
    "models/parts/top_down.py": "tests/models/test_top_down.py tests/models/test_vatex.py",
    "models/parts/gumbel.py": "tests/models/test_gumbel.py tests/models/test_g2l.py",
    "extractors/parts/windows.py": "tests/extractors/test_windows.py",
}

EQUIVALENT: tuple[tuple[str, str, str, str], ...] = ()  # (module, line before, line after, why nothing changes)
