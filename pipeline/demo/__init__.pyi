from .making import DemoSettings as DemoSettings, make_demo_set as make_demo_set
from .plan import SMALLEST_SET as SMALLEST_SET, WHOLE_SET as WHOLE_SET, split_sizes as split_sizes
