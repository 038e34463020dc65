"""From images to feature files; the only room that knows torch, timm and Pillow."""
