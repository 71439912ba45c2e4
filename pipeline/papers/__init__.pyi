from .applying import undo as undo
from .recipes import Recipe as Recipe, known_recipes as known_recipes, read_recipe as read_recipe
from .show import apply_recipe as apply_recipe, show_recipes as show_recipes
from .tables import Made as Made, PaperTable as PaperTable, paper_tables as paper_tables
