"""Methods that train the backbone, or parts added to it, on images; with `extraction` the only room with torch."""
