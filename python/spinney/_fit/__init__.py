"""From parameters, targets and weights to a task for the compiled part."""
