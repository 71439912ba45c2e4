"""The modules that experiments/mutants.py changes, the tests that must notice, and changes that nothing can notice."""

from __future__ import annotations

STORE = "tests/store/test_recorded_bytes.py tests/store/test_format.py tests/store/test_tensors.py"
FORWARD = "tests/extraction/test_batching.py tests/decoding/test_ahead.py"

TESTS = {  # module -> files and folders of tests, in the order in which they run
    "pipeline/core/atomic.py": "tests/core/test_unfinished.py tests/core/test_atomic.py",
    "pipeline/core/hashing.py": STORE,
    "pipeline/corpus/vocabulary.py": "tests/corpus",
    "pipeline/index/video_index.py": "tests/index",
    "pipeline/index/stored_index.py": "tests/index",
    "pipeline/store/manifest.py": f"{STORE} tests/store/test_row_tables.py tests/store/test_damage.py",
    "pipeline/store/tensor_file.py": f"{STORE} tests/store/test_damage.py",
    "pipeline/store/provenance.py": "tests/store/test_provenance.py",
    "pipeline/store_tools/verify_store.py": "tests/store/test_row_tables.py tests/store/test_damage.py",
    "pipeline/cache/feature_cache.py": "tests/cache tests/store/test_cache.py",
    "pipeline/extraction/sampling.py": "tests/extraction/test_sampling.py tests/extraction/test_sampling_rules.py",
    "pipeline/extraction/forward_pass.py": f"{FORWARD} tests/extraction/test_forward_pass.py",
    "pipeline/extraction/fingerprint.py": "tests/store/test_fingerprint.py",
    "pipeline/captioner/batches.py": "tests/captioner/test_training_pairs.py tests/captioner/test_batches.py",
    "pipeline/captioner/best_words.py": "tests/captioner/test_best_words.py",
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

TOP_K = "return gumbel_top_k(weights.detach(), mask, count=count, temperature={}, noise=False, backward_temperature={})"
UNKNOWN = "numpy takes every negative length as the one to find out"
VIEW = "array = np.frombuffer(self._map, DTYPES[field['dtype']], count, offset=self._data + begin if count else {})"
FIRST_ROWS = "return {{name: tensor[:rows] if len(tensor) {} rows else tensor for name, tensor in state.items()}}"
TOTALS = "totals = reward.new_zeros(int(video_of.max()) + {}).index_add(0, video_of, reward)"

EQUIVALENT: tuple[tuple[str, str, str, str], ...] = (  # (module, line before, line after, why nothing changes)
    (
        "pipeline/extraction/sampling.py",
        "if sampling.window is not None and sampling.stride is not None:",
        "if sampling.window is not None or sampling.stride is not None:",
        "params take both or none",
    ),
    (
        "pipeline/store/tensor_file.py",
        "data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)",
        "data = np.ascontiguousarray(array).reshape(-2).view(np.uint8)",
        UNKNOWN,
    ),
    (
        "pipeline/store/tensor_file.py",
        "table = data[:whole].view('<u8').reshape(-1, PAGE // 8)",
        "table = data[:whole].view('<u8').reshape(-2, PAGE // 8)",
        UNKNOWN,
    ),
    (
        "pipeline/store/tensor_file.py",
        "data = part if isinstance(part, bytes) else part.reshape(-1).view(np.uint8).data",
        "data = part if isinstance(part, bytes) else part.reshape(-2).view(np.uint8).data",
        UNKNOWN,
    ),
    (
        "pipeline/store/tensor_file.py",
        VIEW.format(0),
        VIEW.format(1),
        "where no number is read, it does not matter from where",
    ),
    (
        "pipeline/captioner/teacher_forcing.py",
        FIRST_ROWS.format(">"),
        FIRST_ROWS.format(">="),
        "the first n of n rows are all rows",
    ),
    (
        "pipeline/extraction/forward_pass.py",
        "first = min(self.open[0]) if self.open else number + 1",
        "first = min(self.open[0]) if self.open else number + 2",
        "no frame after `number` has been prepared: both let go of all",
    ),
    (
        "pipeline/captioner/search.py",
        "for position in range(search.max_words + 1):",
        "for position in range(search.max_words + 2):",
        "at position `max_words` every beam has ended, or has probability zero and stays so",
    ),
    (
        "pipeline/evaluation/bootstrap.py",
        "BLOCK = 1 << 23",
        "BLOCK = 2 << 23",
        "decides memory only: blocks change no draw (test_the_seed_decides_and_blocks_do_not)",
    ),
    (
        "pipeline/evaluation/bootstrap.py",
        "BLOCK = 1 << 23",
        "BLOCK = 1 << 24",
        "decides memory only: blocks change no draw (test_the_seed_decides_and_blocks_do_not)",
    ),
    (
        "pipeline/evaluation/bootstrap.py",
        "size = max(1, BLOCK // max(1, videos))",
        "size = max(1, BLOCK // max(2, videos))",
        "of one video the blocks are half as large, and blocks change no draw",
    ),
    (
        "pipeline/training/self_critical.py",
        TOTALS.format(1),
        TOTALS.format(2),
        "one more sum, of a video that no caption belongs to, is never read",
    ),
    (
        "models/parts/gumbel.py",
        TOP_K.format("1.0", "1.0"),
        TOP_K.format("2.0", "1.0"),
        "with a backward temperature the other one is not read",
    ),
    (
        "models/parts/gumbel.py",
        TOP_K.format("1.0", "1.0"),
        TOP_K.format("1.0", "2.0"),
        "the choice is one-hot, and through detached weights there is no gradient",
    ),
)
