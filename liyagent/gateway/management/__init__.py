"""Commands that an operator types."""
