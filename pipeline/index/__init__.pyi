from .index_lines import (
    QuarantineRow as QuarantineRow,
    VideoRow as VideoRow,
)
from .video_index import (
    CHECKSUMS_FILE as CHECKSUMS_FILE,
    FILES as FILES,
    INDEX_FILE as INDEX_FILE,
    VideoIndex as VideoIndex,
    read_index as read_index,
    write_index as write_index,
)
