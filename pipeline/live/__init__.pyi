from .live_project import LiveProject as LiveProject
from .server import Address as Address, serve_project as serve_project
