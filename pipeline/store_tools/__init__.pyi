from .compare_stores import compare as compare
from .export_store import export as export
from .import_foreign import import_features as import_features
from .verify_store import repair as repair, verify as verify
