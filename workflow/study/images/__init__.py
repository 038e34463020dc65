"""Data sets of images: where they lie, how their folders are read, and features from them."""
