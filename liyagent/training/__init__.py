"""What is made of past runs, and what agents are tried with: fine-tuning, classifiers, red teams. Each is a kind of job.

Tables: those of the rooms within. Stands above `runs`, whose words it reads; called by HTTP, the console and the shell.
"""
