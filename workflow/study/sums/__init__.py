"""Sums of each class: made from feature files, added up, and swept over class orders and settings."""
