"""Workflows: governed calls in an order that was written down, carried as any run is."""
