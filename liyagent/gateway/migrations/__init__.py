"""Migrations of the gateway. Each name says its effect."""
