"""Methods that train the backbone, or parts added to it, on images; with `extraction` the only folder with torch."""
