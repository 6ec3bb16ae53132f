"""Numbers: what confidences, decisions and prompts are worth, each with its interval."""
