from .conversion import import_bytes as import_bytes
from .converted import (
    availability as availability,
    converted_path as converted_path,
    is_ready as is_ready,
    load_weights as load_weights,
    origin as origin,
    own_weights as own_weights,
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
from .obtaining import fetch as fetch, import_files as import_files, import_own_file as import_own_file
from .own import own_names as own_names, own_network as own_network
from .proof import WeightsProof as WeightsProof, prove_tensors as prove_tensors
from .reading import read_published as read_published
from .registry import (
    NONE as NONE,
    RANDOM as RANDOM,
    REGISTRY as REGISTRY,
    WEIGHTS_FOLDER as WEIGHTS_FOLDER,
    WITHOUT_FILE as WITHOUT_FILE,
    Digests as Digests,
    Package as Package,
    Weights as Weights,
    WeightsSource as WeightsSource,
)
from .requirement import require_weights as require_weights
from .show_weights import (
    fetch_and_show as fetch_and_show,
    import_and_show as import_and_show,
    import_own_and_show as import_own_and_show,
    show_registry as show_registry,
    show_status as show_status,
    verify_and_show as verify_and_show,
)
from .transformers_folder import stated_options as stated_options
