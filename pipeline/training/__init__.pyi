from .schedules import make_optimizer as make_optimizer
from .setup import prepare as prepare, publish_run as publish_run
from .train import TrainRun as TrainRun, train_at_once as train_at_once
from .trainer import Trainer as Trainer
