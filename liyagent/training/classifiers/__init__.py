"""Classifiers of short texts: trained on labelled examples or on past runs, measured on what was held out, kept by version.

Tables: TrainingInput, Classifier. Verbs: `ask_training`, `classify`, `remove_classifier`. The job is `classifier_training`, which ends
`interrupted` when its process stops (CR-31). Called by HTTP, the console and `manage.py classifier`.
"""
