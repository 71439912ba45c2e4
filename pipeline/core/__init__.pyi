from . import atomic as atomic
from .archives import UNREADABLE as UNREADABLE
from .arguments import CommandParser as CommandParser, add_actions as add_actions
from .atomic import (
    fresh_folder as fresh_folder,
    named_when_full as named_when_full,
    publishing as publishing,
    sweep as sweep,
    write_bytes as write_bytes,
    write_json as write_json,
    write_text as write_text,
)
from .cache_dirs import cache_folder as cache_folder, cache_root as cache_root
from .command_progress import Bar as Bar, CommandProgress as CommandProgress, told_progress as told_progress
from .console import (
    SILENT as SILENT,
    Console as Console,
    Progress as Progress,
    clock as clock,
)
from .derived import Derived as Derived
from .errors import (
    ClusterError as ClusterError,
    DamageError as DamageError,
    DiskFullError as DiskFullError,
    FramescribeError as FramescribeError,
    InputError as InputError,
    MissingToolError as MissingToolError,
    TooManyFailedError as TooManyFailedError,
    UsageError as UsageError,
    WorkerDiedError as WorkerDiedError,
)
from .executors import (
    HERE as HERE,
    Executor as Executor,
    InProcess as InProcess,
    LocalProcesses as LocalProcesses,
    Threads as Threads,
    cores as cores,
    end_with_parent as end_with_parent,
    shares as shares,
)
from .hashing import (
    SEAL as SEAL,
    canonical as canonical,
    file_sha256 as file_sha256,
    record_sha256 as record_sha256,
    seal_is_whole as seal_is_whole,
    sealed as sealed,
    write_sealed as write_sealed,
)
from .ids import duplicates as duplicates, named as named
from .json_file import read_json as read_json, read_json_lines as read_json_lines, read_text as read_text
from .linking import link_file as link_file
from .malloc import keep_freed_memory as keep_freed_memory
from .markdown import markdown_rows as markdown_rows
from .metric_names import FEWEST_VIDEOS as FEWEST_VIDEOS, NAMES as NAMES, ORDER as ORDER
from .overlap import in_flight as in_flight, overlaps as overlaps
from .reasons import REASONS as REASONS, TRANSIENT as TRANSIENT, DecodeError as DecodeError
from .sealed_file import (
    UNSEALED as UNSEALED,
    read_sealed_json as read_sealed_json,
    read_sealed_tensors as read_sealed_tensors,
    require_seal as require_seal,
    write_sealed_json as write_sealed_json,
    write_sealed_tensors as write_sealed_tensors,
)
from .seen_commands import SeenCommand as SeenCommand, read_commands as read_commands, seconds_left as seconds_left
from .semaphores import claim_semaphores as claim_semaphores
from .shared_memory import anonymous_memory as anonymous_memory
from .shell_completion import completion_script as completion_script
from .shown_text import printable as printable, printable_lines as printable_lines
from .stage_inputs import (
    UNGUARDED as UNGUARDED,
    Changes as Changes,
    StageInputs as StageInputs,
    differences as differences,
    no_changes as no_changes,
    unchanged as unchanged,
)
