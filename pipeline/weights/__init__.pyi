from .conversion import import_bytes as import_bytes
from .converted import (
    WEIGHTS_FOLDER as WEIGHTS_FOLDER,
    availability as availability,
    converted_path as converted_path,
    is_ready as is_ready,
    load_weights as load_weights,
    origin as origin,
    status as status,
    verify as verify,
)
from .instructions import (
    conditions as conditions,
    fetch_command as fetch_command,
    how_to_get as how_to_get,
    missing as missing,
)
from .lookup import entry as entry, fitting_options as fitting_options
from .obtaining import fetch as fetch, import_files as import_files
from .registry import (
    NONE as NONE,
    RANDOM as RANDOM,
    REGISTRY as REGISTRY,
    WITHOUT_FILE as WITHOUT_FILE,
    Package as Package,
    Weights as Weights,
    WeightsSource as WeightsSource,
)
from .show_weights import (
    fetch_and_show as fetch_and_show,
    import_and_show as import_and_show,
    show_registry as show_registry,
    show_status as show_status,
    verify_and_show as verify_and_show,
)
