from .cards import (
    CARDS as CARDS,
    Card as Card,
    entry_of as entry_of,
    read_card as read_card,
    read_cards as read_cards,
)
from .catalogue_table import add_card as add_card, show_card as show_card, show_cards as show_cards
from .families import (
    can_resize as can_resize,
    code_of as code_of,
    family_module as family_module,
    family_options as family_options,
    lookahead_of as lookahead_of,
    source_folders as source_folders,
    takes_of as takes_of,
)
