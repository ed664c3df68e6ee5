"""A compiled network as a plan for a guest: devices, routes, qdiscs, flows, as commands."""
