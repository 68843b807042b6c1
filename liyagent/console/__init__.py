"""The console: Django's admin site for operators.

Tables: none. Each room registers its own pages; here is what concerns the site as a whole.
"""
