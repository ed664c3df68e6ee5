"""Traffic control as configured, and its translation to ports and conditioners."""
