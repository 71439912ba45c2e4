from .assemble import Assemble as Assemble
from .caption import Caption as Caption
from .dataset import Dataset as Dataset, Subset as Subset
from .decode import Decode as Decode
from .editing import edit_params as edit_params, edited as edited, insert as insert
from .evaluate import Evaluate as Evaluate
from .extract import Extract as Extract, Sampling as Sampling
from .file import (
    OWN_STORES as OWN_STORES,
    PARAMS_FILE as PARAMS_FILE,
    Params as Params,
    load_params as load_params,
    parse_params as parse_params,
    pick as pick,
)
from .report import Report as Report
from .section import Section as Section, read_yaml as read_yaml
from .train import (
    NO_RUN as NO_RUN,
    NO_VECTORS as NO_VECTORS,
    Schedule as Schedule,
    Slots as Slots,
    Train as Train,
)
from .values_in_use import params_in_use as params_in_use
