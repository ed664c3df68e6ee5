"""Simulator against kernel: measures, tolerances and the verdict."""
