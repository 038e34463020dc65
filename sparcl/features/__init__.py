"""Cached features of frozen backbones: files (`store`), and how they are made from images."""
