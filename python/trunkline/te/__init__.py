"""Traffic engineering on graphs and arrays: paths, admission, preemption, placement.

Nothing here knows a scenario. `topology` makes the graph; every other module takes it with arrays
over its arcs, and gives paths as tuples of arcs. Bandwidths are bit/s, integers where they are
reserved; delays are nanoseconds.
"""
