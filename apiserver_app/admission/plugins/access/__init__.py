"""Who may do more than their role says, or less: nodes, signers, owners, service accounts."""
