"""Simulator against kernel: what is compared, how far apart it may be, and the verdict."""
