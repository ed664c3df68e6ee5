"""The same scenario on a Linux kernel: a plan for a guest, runners, and the results."""
