from .certificates import make_certificates as make_certificates
from .checking import as_rows as as_rows, as_summary as as_summary, check as check
from .executor import DaskExecutor as DaskExecutor
from .start import gpus as gpus, worker_count as worker_count
