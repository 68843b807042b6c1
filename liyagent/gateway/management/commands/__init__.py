"""`manage.py servers|tools|policies`: what is offered, what is trusted of it, what is permitted."""
