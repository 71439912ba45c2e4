from .applying import undo as undo
from .differing import Here as Here, Made as Made
from .needs import bytes_of as bytes_of, known_sizes as known_sizes
from .recipes import (
    RECIPES as RECIPES,
    Recipe as Recipe,
    known_recipes as known_recipes,
    read_recipe as read_recipe,
)
from .show import apply_recipe as apply_recipe, show_recipes as show_recipes
from .tables import PaperTable as PaperTable, of_this_data as of_this_data, paper_tables as paper_tables
