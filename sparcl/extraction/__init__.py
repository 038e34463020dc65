"""From images to feature files; the only folder that imports timm and Pillow."""
