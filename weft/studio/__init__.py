"""Pictures of the plan and of its run."""
