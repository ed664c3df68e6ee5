"""Networks at their real rates: each link simulated alone, paths put together from their links."""
