"""FlowSchemas and PriorityLevelConfigurations."""
