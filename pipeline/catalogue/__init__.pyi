from .cards import Card as Card, entry_of as entry_of, read_card as read_card, read_cards as read_cards
from .families import (
    beyond_of as beyond_of,
    can_resize as can_resize,
    code_of as code_of,
    family_module as family_module,
    family_options as family_options,
)
