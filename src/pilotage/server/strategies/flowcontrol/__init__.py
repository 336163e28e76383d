"""FlowSchemas and PriorityLevelConfigurations, and those that every server has."""
