"""Scenarios as pages that run: the engine, the network and its parameters in one file of HTML."""
