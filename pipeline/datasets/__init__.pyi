from . import msrvtt as msrvtt, msvd as msvd, vatex as vatex
from .annotations import Annotations as Annotations
from .assemble import CATEGORIES as CATEGORIES, assemble_captions as assemble_captions
from .choose_dataset import show_dataset as show_dataset, splits_in_use as splits_in_use, use_dataset as use_dataset
from .loading import LOADERS as LOADERS, WITH_CLASSES as WITH_CLASSES, load_annotations as load_annotations
from .matching import match_videos as match_videos, require_match as require_match
from .plain_folder import TABLE as TABLE
from .sources import first_file as first_file, read_records as read_records
