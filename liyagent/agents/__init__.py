"""What an agent is: its model, instructions, tools, limits and who may run it.

Tables: Agent, AgentVersion, ConfigVersion. Verbs: `save_agent`, `contain_agent`,
`find_agent`. Every change raises the configuration version, which each hot
statement returns, so that it acts at a run's next statement. Called by runs, entry.
"""
