"""Object stores: videos, cache entries and feature stores that lie at a URL instead of in a folder.

A URL is only ever a place. What is fetched from it is checked by its content, and no result remembers where it was.
"""
