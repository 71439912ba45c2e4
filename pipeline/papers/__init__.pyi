from .applying import applied as applied, differences as differences, keep_former as keep_former, undo as undo
from .needs import (
    Needs as Needs,
    core_hours as core_hours,
    gpu_hours as gpu_hours,
    library_of as library_of,
    needs_of as needs_of,
)
from .recipes import Recipe as Recipe, known_recipes as known_recipes, percent as percent, read_recipe as read_recipe
from .tables import Made as Made, PaperTable as PaperTable, paper_tables as paper_tables
