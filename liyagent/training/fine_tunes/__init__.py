"""Fine-tuning of a model with what an agent said: transcripts kept in full, to an OpenAI-compatible endpoint (CR-06).

Tables: Example. Verbs: `ask_fine_tune`, `look_through`. The job is `fine_tune`: it collects, uploads, creates, and asks how it goes.
Called by HTTP and `manage.py fine_tune`.
"""
