from .video_index import (
    CHECKSUMS_FILE as CHECKSUMS_FILE,
    FILES as FILES,
    INDEX_FILE as INDEX_FILE,
    QuarantineRow as QuarantineRow,
    VideoIndex as VideoIndex,
    VideoRow as VideoRow,
    read_index as read_index,
    write_index as write_index,
)
