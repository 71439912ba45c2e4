from . import decode as decode
from .ahead import prefetch as prefetch
from .contact_sheet import show_frames as show_frames
from .decode import decode_videos as decode_videos
from .decode_cache import examined as examined
from .findings import row_from as row_from
from .guard import borrowed_guard as borrowed_guard, kill_all as kill_all
from .hash_memory import HashMemory as HashMemory, mark_of as mark_of
from .held_video import held as held
from .limits import Limits as Limits
from .opening import OpenedFile as OpenedFile, require_regular_file as require_regular_file
from .own_videos import index_of_own as index_of_own
from .read_video import (
    Audio as Audio,
    inspect_video as inspect_video,
    read_audio as read_audio,
    read_frames as read_frames,
)
from .video_files import find_videos as find_videos
