"""The papers as recipes: what their rows need, how params.yaml becomes one of them, and what they published."""
