from .examination import examine as examine, glance as glance
from .probes import decord as decord
