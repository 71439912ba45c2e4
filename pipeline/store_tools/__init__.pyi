from .estimate_stores import show_estimates as show_estimates
from .list_stores import show_stores as show_stores, show_video as show_video, show_videos as show_videos
from .show_work import (
    compare_and_show as compare_and_show,
    export_and_show as export_and_show,
    import_and_show as import_and_show,
    pull_and_show as pull_and_show,
    push_and_show as push_and_show,
    repair_and_show as repair_and_show,
    verify_and_show as verify_and_show,
)
