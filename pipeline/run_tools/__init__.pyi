from .export_run import export_and_show as export_and_show
from .run_file import RunFile as RunFile, open_run_file as open_run_file, write_run_file as write_run_file
from .show_card import show_and_write_card as show_and_write_card
from .unpack_run import unpacked_run as unpacked_run
