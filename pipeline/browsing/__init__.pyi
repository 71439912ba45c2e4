from .caption_library import (
    SAID_BY as SAID_BY,
    CaptionFiles as CaptionFiles,
    Library as Library,
    SaidOfClip as SaidOfClip,
    read_library as read_library,
    searched_words as searched_words,
)
from .disk_space import DiskUse as DiskUse, disk_use as disk_use
from .log_tails import LogLine as LogLine, list_logs as list_logs, tail_of as tail_of
from .pages import Paged as Paged, paged as paged
from .row_neighbours import CANDIDATES as CANDIDATES, Neighbour as Neighbour, nearest_rows as nearest_rows
from .run_pair import (
    SORTED_BY as SORTED_BY,
    differing_clips as differing_clips,
    evaluated_names as evaluated_names,
    paired_statistics as paired_statistics,
)
from .shown_stores import (
    STATES as STATES,
    VideoRows as VideoRows,
    list_stores as list_stores,
    store_names as store_names,
    store_of as store_of,
    store_videos as store_videos,
    video_rows as video_rows,
)
