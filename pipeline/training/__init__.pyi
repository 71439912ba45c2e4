from .schedules import make_optimizer as make_optimizer
from .setup import prepare as prepare, publish_run as publish_run
from .train import train_named_runs as train_named_runs
from .trainer import Trainer as Trainer
